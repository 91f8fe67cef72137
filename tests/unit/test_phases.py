"""What each signal means in each phase of the parent."""

import signal

import pytest

from sqlqd.parent import phases
from sqlqd.parent.phases import Phase, Step
from sqlqd.proc import PARENT_SIGNALS


def test_every_signal_means_something_in_every_phase() -> None:
    for phase in Phase:
        assert phases.SIGNALS[phase].keys() == PARENT_SIGNALS


@pytest.mark.parametrize(
    ("phase", "number", "step"),
    [
        (Phase.STARTING, signal.SIGTERM, Step.DRAIN),
        (Phase.STARTING, signal.SIGINT, Step.DRAIN),
        (Phase.RUNNING, signal.SIGTERM, Step.DRAIN),
        (Phase.RUNNING, signal.SIGINT, Step.DRAIN),
        (Phase.STARTING, signal.SIGHUP, Step.RELOAD),
        (Phase.RUNNING, signal.SIGHUP, Step.RELOAD),
        (Phase.RELOADING, signal.SIGHUP, Step.RELOAD),
        (Phase.RELOADING, signal.SIGTERM, Step.DRAIN),
        (Phase.RUNNING, signal.SIGUSR1, Step.NOTHING),
        (Phase.DRAINING, signal.SIGTERM, Step.NOTHING),
        (Phase.DRAINING, signal.SIGINT, Step.END),
        (Phase.DRAINING, signal.SIGHUP, Step.NOTHING),
        (Phase.KILLING, signal.SIGINT, Step.NOTHING),
        (Phase.KILLING, signal.SIGTERM, Step.NOTHING),
    ],
)
def test_what_a_signal_means(phase: Phase, number: signal.Signals, step: Step) -> None:
    assert phases.asked(phase, number, hangup_stops=False) is step


@pytest.mark.parametrize("phase", Phase)
def test_a_hang_up_stops_where_the_terminal_is_ours(phase: Phase) -> None:
    step = phases.asked(phase, signal.SIGHUP, hangup_stops=True)
    assert step is (Step.DRAIN if phase.works else Step.NOTHING)
