"""What decides when a job runs, as plain values: from the database, and from the daemons that live on it."""

from dataclasses import dataclass
from enum import Enum

from sqlqd.model import Ask, DaemonSeen, Pause, Record, WorkerSeen

MOST_AHEAD = 100_000
"""More jobs than this are not counted for a person's question."""


@dataclass(frozen=True, slots=True)
class Held:
    """The lease that a job is under, as its row tells."""

    token: str
    left: float | None
    """Seconds until it ends by the clock that it is measured by, below 0 once it is over; None: it makes no
    sense, and is ended by whoever finds it."""
    lost: bool
    """It was ended for its holder: the next claim takes the job over."""
    earlier_boot: bool
    asked: Ask | None
    """What a person wants of the attempt."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """A job, and all in the database that decides when it runs, read in one transaction."""

    now: float
    job: Record
    held: Held | None = None
    pauses: tuple[Pause, ...] = ()
    """Those in force that concern it: of its queue and of all."""
    blocked_until: float | None = None
    """Until then its queue is held, since its command cannot be started; None: it is not held."""
    blocked_reason: str | None = None
    failures: int = 0
    """How many attempts of its queue failed one after the other, where that holds it."""
    rated_until: float | None = None
    """When its queue's rate lets the next job start; None: now."""
    turn_of: str | None = None
    """The job of its key that runs, where those take turns."""
    leased: int = 0
    """Jobs of its queue that take up one of its slots; this one apart."""
    holders: tuple[str, ...] = ()
    """The ids of some of these."""
    ahead: int = 0
    """Jobs of its queue that are due and come before it; counted up to `MOST_AHEAD`."""
    rivals: int = 0
    """Other queues that have something due: they take turns with its own."""
    workers: tuple[WorkerSeen, ...] = ()
    daemons: tuple[DaemonSeen, ...] = ()


class Stage(Enum):
    """Where a daemon that lives is between its start and its end."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class DaemonNow:
    """A daemon that lives, and what it does with the queue in question."""

    pid: int
    stage: Stage
    config: str
    """The configuration that it runs by."""
    outdated: bool = False
    """Whether that file was changed since it was loaded."""
    serves: bool | None = True
    """Whether the file has the queue; None: it cannot be read by whoever asks."""
    concurrency: int | None = None
    """The queue's, by that file."""
    hangup_stops: bool = False
    """Whether SIGHUP ends it, since it belongs to a terminal."""

    @property
    def reload(self) -> str:
        """What has it load that file again, for people."""
        if self.hangup_stops:
            return f"stop it by Ctrl-C in its terminal (or `kill {self.pid}`) and start it again"
        return f"`kill -HUP {self.pid}`"


def in_a_row(failures: int) -> str:
    """Why a breaker holds a queue, as part of a sentence."""
    if failures == 1:
        return "the last attempt failed"
    return f"{failures} attempts failed one after the other"
