"""A test of the simulation: it must see each of many faults, or it proves nothing."""

import pytest
from hypothesis.stateful import run_state_machine_as_test

from tests.sim.ledger import Broken
from tests.sim.machine import Machine, found_within
from tests.sim.planted import PLANTED

EXAMPLES = 250
"""Most are seen within a dozen, all within a hundred."""


@pytest.mark.timeout(240)
@pytest.mark.parametrize("fault", PLANTED)
def test_the_simulation_sees(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED[fault](monkeypatch)
    with pytest.raises(Broken):
        run_state_machine_as_test(Machine, settings=found_within(EXAMPLES))
