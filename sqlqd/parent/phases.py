"""Where a daemon is between its start and its end, and what each signal means there: one table."""

import signal
from enum import Enum
from signal import Signals


class Phase(Enum):
    """Where the daemon is between its start and its end."""

    STARTING = "starting"
    RUNNING = "running"
    RELOADING = "reloading"
    """A new configuration is taken up: children of the old one leave as soon as they have no job."""
    DRAINING = "draining"
    """No new jobs; running commands have their time."""
    KILLING = "killing"
    """Running commands are ended."""

    @property
    def works(self) -> bool:
        """Whether jobs are given out, or will be once it has started."""
        return self in (Phase.STARTING, Phase.RUNNING, Phase.RELOADING)


class Step(Enum):
    """What a signal asks for."""

    NOTHING = "nothing"
    LOOK = "look"
    DRAIN = "drain"
    END = "end"
    RELOAD = "reload"
    """At once while it runs, also while it reloads; else once it has started."""


_AT_WORK = {
    signal.SIGTERM: Step.DRAIN,
    signal.SIGINT: Step.DRAIN,
    signal.SIGQUIT: Step.END,
    signal.SIGHUP: Step.RELOAD,
    signal.SIGUSR1: Step.NOTHING,
    signal.SIGUSR2: Step.NOTHING,
    signal.SIGCHLD: Step.LOOK,
}

SIGNALS: dict[Phase, dict[Signals, Step]] = {
    Phase.STARTING: _AT_WORK,
    Phase.RUNNING: _AT_WORK,
    Phase.RELOADING: _AT_WORK,
    Phase.DRAINING: {
        signal.SIGTERM: Step.NOTHING,
        signal.SIGINT: Step.END,
        signal.SIGQUIT: Step.END,
        signal.SIGHUP: Step.NOTHING,
        signal.SIGUSR1: Step.NOTHING,
        signal.SIGUSR2: Step.NOTHING,
        signal.SIGCHLD: Step.LOOK,
    },
    Phase.KILLING: {
        signal.SIGTERM: Step.NOTHING,
        signal.SIGINT: Step.NOTHING,
        signal.SIGQUIT: Step.NOTHING,
        signal.SIGHUP: Step.NOTHING,
        signal.SIGUSR1: Step.NOTHING,
        signal.SIGUSR2: Step.NOTHING,
        signal.SIGCHLD: Step.LOOK,
    },
}
"""Every signal in every phase."""


def asked(phase: Phase, number: Signals, *, hangup_stops: bool) -> Step:
    """What a signal asks for. `hangup_stops`: SIGHUP says that the terminal which we belong to is gone."""
    step = SIGNALS[phase][number]
    return Step.DRAIN if step is Step.RELOAD and hangup_stops else step
