"""A command's run as a worker sees it, whatever stands behind it."""

import signal
from collections.abc import Mapping
from typing import Protocol

from sqlqd.command.launch import Refusal
from sqlqd.config import Queue
from sqlqd.model import Claim, Ended, Outcome, Progress

_STOPS = frozenset({signal.SIGINT, signal.SIGTERM})
_INTERRUPTED = frozenset(128 + number for number in _STOPS)
"""Statuses of a command that caught the signal of a stop and left because of it."""


class Run(Protocol):
    """A command that runs or has ended, as a worker sees it."""

    @property
    def outcome(self) -> Outcome | None:
        """None until everything is over; then how it ended."""
        ...

    @property
    def pid(self) -> int | None:
        """The command's process; None where it could not be started."""
        ...

    @property
    def progress(self) -> Progress | None:
        """How far it is, by its command's own word so far."""
        ...

    def descriptors(self) -> Mapping[int, int]:
        """What to wait for: descriptors with the events of poll()."""
        ...

    def step(self, now: float) -> float:
        """Do what is due at `now` of the awake clock, without waiting; when more is due."""
        ...

    def end(self, how: Ended, now: float, *, at_once: bool = False) -> None:
        """Begin to end it, for that reason; `at_once`: by SIGKILL. May be repeated to make it harder."""
        ...

    def close(self) -> None:
        """Give up its descriptors."""
        ...


class Commands(Protocol):
    """What starts commands."""

    def start(self, claim: Claim, queue: Queue) -> Run:
        """Start the claim's command; a run that has its outcome already where that is impossible."""
        ...


def ended_by_stop(outcome: Outcome) -> bool:
    """Whether a run that ended while the daemon stops was taken down with it, by its own account."""
    return outcome.how is Ended.SIGNALLED or (outcome.how is Ended.EXITED and outcome.code in _INTERRUPTED)


def looks_stopped(outcome: Outcome) -> bool:
    """Whether a run ended as it would by a stop that is sent to all processes at once."""
    return ended_by_stop(outcome) and (outcome.how is Ended.EXITED or outcome.signal in _STOPS)


class NotStarted:
    """A run that never began."""

    pid: int | None = None
    progress: Progress | None = None

    def __init__(self, refusal: Refusal, started_at: float) -> None:
        self.outcome: Outcome | None = Outcome(
            refusal.how, started_at, 0.0, detail=refusal.detail, lasting=refusal.lasting
        )

    def descriptors(self) -> Mapping[int, int]:
        """None."""
        return {}

    def step(self, now: float) -> float:
        """Nothing is left to do."""
        return now

    def end(self, how: Ended, now: float, *, at_once: bool = False) -> None:
        """It has ended."""

    def close(self) -> None:
        """It has nothing open."""
