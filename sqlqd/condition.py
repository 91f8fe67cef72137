"""How a queue's file is, as plain values: what `metrics` counts and `doctor` looks for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Total:
    """How many attempts, or jobs, of a queue ended so."""

    queue: str
    outcome: str
    """done, cancelled and dead are ends of jobs; failed attempts are tried again, lost ones were crashes."""
    count: int


@dataclass(frozen=True, slots=True)
class Distant:
    """Jobs that are due in the far future."""

    count: int
    example: str
    """The id of the one that is due last."""
    run_at: float


@dataclass(frozen=True, slots=True)
class Condition:
    """What a quick look at the rows tells, however many there are. Moments are Unix seconds."""

    now: float
    schema: int
    newest_schema: int
    """The newest that this program knows."""
    added_at: float | None = None
    """The latest moment at which one of the jobs that came last says that it was added."""
    written_at: float | None = None
    """The latest moment that a daemon wrote into the file."""
    distant: Distant | None = None
    overdue: int = 0
    """Leases that are over for longer than any daemon lets them be."""
