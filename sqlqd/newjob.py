"""A job as a producer states it."""

from enum import Enum
from typing import NamedTuple

PRIORITIES = range(-100, 101)
LATEST = 1e11
"""The latest moment that a row may have, Unix seconds: a job that follows another of its key is due then."""


class Conflict(Enum):
    """What to do where a live job has the new one's key."""

    KEEP = "keep"
    """Leave it as it is; the new one is not added."""
    REPLACE = "replace"
    """Give the waiting one the new payload and time; behind a running one, as NEXT."""
    NEXT = "next"
    """One more after the one that runs. One that waits already stands for it."""
    ERROR = "error"


class NewJob(NamedTuple):
    """A job as a producer states it; what is None is filled in by the store."""

    queue: str
    payload: str = ""
    run_at: float | None = None
    delay: float = 0.0
    """Seconds after now; counts where `run_at` is None."""
    priority: int = 0
    key: str | None = None
    max_attempts: int | None = None
    id: str | None = None
    expires_at: float | None = None
    """Not started after this."""
    shared: bool = False
    """Others may have the same key: they take turns."""
    on_conflict: Conflict = Conflict.KEEP
    max_waiting: int | None = None
    """Refused where so many of its queue wait already."""


def no_text(payload: object) -> str | None:
    """Why a value of Python is no payload; None: it is text. Which of its text is, the schema says."""
    if isinstance(payload, str):
        return None
    return f"payload must be text, a str, and is of type {type(payload).__name__}: decode it, or json.dumps()"


class Enqueued(NamedTuple):
    """The id of a live job, and whether this call made it or found it by its key."""

    id: str
    created: bool
