"""Waiting for a store that cannot be had: growing pauses, and few lines in the log however long it takes."""

import math
import random

from sqlqd import log
from sqlqd.clock import Clock

_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 10.0
_QUIET = 60.0
"""Seconds between lines that say the same."""


class Patience:
    """How long one process has been without its store, by the awake clock."""

    def __init__(self, clock: Clock, rng: random.Random, worker: int | None = None) -> None:
        self._clock = clock
        self._rng = rng
        self._worker = worker
        self._since: float | None = None
        self._failures = 0
        self._said_at = -math.inf

    @property
    def failing(self) -> bool:
        """Whether it failed at the last try."""
        return self._since is not None

    def failed(self, reason: str) -> float:
        """It failed again: seconds to wait before the next try, never twice the same for all workers."""
        now = self._clock.awake()
        if self._since is None:
            self._since = now
        if now - self._said_at >= _QUIET:
            self._said_at = now
            log.event("store.waiting", worker=self._worker, reason=reason)
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(self._failures, 10))
        self._failures += 1
        return pause * self._rng.uniform(0.75, 1.0)

    def worked(self) -> None:
        """It answered."""
        if self._since is None:
            return
        waited = self._clock.awake() - self._since
        log.event("store.back", worker=self._worker, waited_seconds=round(waited, 3))
        self._since = None
        self._failures = 0
