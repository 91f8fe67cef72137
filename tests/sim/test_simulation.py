"""The simulation, briefly; `python -m tests.sim` runs it for as long as is asked."""

import pytest
from hypothesis.stateful import run_state_machine_as_test

from tests.sim.machine import Machine, found_within

EXAMPLES = 250


@pytest.mark.timeout(240)
def test_every_promise_holds_whatever_happens() -> None:
    run_state_machine_as_test(Machine, settings=found_within(EXAMPLES))
