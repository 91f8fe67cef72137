"""On which terms a queue's jobs run, as plain values. Lengths are seconds."""

import math
from typing import NamedTuple

DEFAULT_MAX_ATTEMPTS = 20
DEFAULT_MAX_CRASHES = 3


class Rate(NamedTuple):
    """How often a queue may start a job."""

    interval: float
    """Seconds from one start to the next, on the average."""
    burst: int = 1
    """So many may start at once after a rest."""


class Breaker(NamedTuple):
    """When a queue is held because its jobs fail one after the other."""

    failures: int
    """In a row."""
    pause: float
    """Seconds until one job is tried."""


class Rules(NamedTuple):
    """What the store must know of a queue to give out its jobs."""

    name: str
    lease: float = 30.0
    concurrency: int | None = None
    """At most this many leased at once, over all workers and daemons on the file."""
    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    max_crashes: int = DEFAULT_MAX_CRASHES
    max_payload: int | None = None
    """Bytes."""
    json: bool = False
    keep_done: float = 86_400.0
    keep_dead: float = math.inf
    expires: float = math.inf
    """Seconds from a job's making after which it is not started any more; its own moment counts before."""
    exclusive: bool = False
    """At most one job of a key runs at a time."""
    rate: Rate | None = None
    breaker: Breaker | None = None
    on_dead: str | None = None
    """The queue that gets each dead job, as JSON."""


class Backoff(NamedTuple):
    """How long to wait after a failure: initial x factor^n, capped, give or take a fraction."""

    initial: float = 10.0
    factor: float = 2.0
    max: float = 3600.0
    jitter: float = 0.25


class Policy(NamedTuple):
    """What decides about an attempt that ended."""

    backoff: Backoff = Backoff()
    success_codes: frozenset[int] = frozenset({0})
    dead_codes: frozenset[int] = frozenset()
    """Exit statuses after which no other attempt makes sense."""
