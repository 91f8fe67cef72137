"""The simulation, briefly; `python -m tests.sim` runs it for as long as is asked."""

from hypothesis.stateful import run_state_machine_as_test

from tests.sim.machine import Machine, found_within

EXAMPLES = 300


def test_every_promise_holds_whatever_happens() -> None:
    run_state_machine_as_test(Machine, settings=found_within(EXAMPLES))
