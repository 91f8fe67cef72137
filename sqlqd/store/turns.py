"""Whose turn it is: the queues that somebody serves, in the order in which they are looked at."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from sqlqd.model import Rate, Rules
from sqlqd.store.database import Row

_ROUNDING = 1e-6
"""Seconds by which sums of intervals may be off."""

LONGEST_BLOCK = 300.0
"""Seconds. A queue that seems held for longer met a clock that was stepped back: it is free."""


class Head(NamedTuple):
    """The first row of a queue in one of the indexes, with what the queue's own row says, if it has one."""

    rowid: int
    queue: bytes
    paused_at: float | None
    paused_until: float | None
    blocked_until: float | None
    blocks: int | None
    rate_at: float | None = None
    failures: int | None = 0
    broken_at: float | None = None
    broken_until: float | None = None
    priority: int = 0
    run_at: float = 0.0

    def closed_until(self, now: float, rules: Rules) -> float | None:
        """Until when the queue gives out nothing; infinity: a pause without an end; None: it is open."""
        paused = 0.0
        if self.paused_at is not None:
            paused = math.inf if self.paused_until is None else self.paused_until
        blocked = self.blocked_until or 0.0
        if blocked > now + LONGEST_BLOCK:
            blocked = 0.0
        latest = max(paused, blocked, self.held_until(now, rules), self.rated_until(now, rules))
        return latest if latest > now else None

    def starts(self, now: float, rules: Rules) -> float:
        """How many jobs the queue's rate lets start at this moment."""
        if rules.rate is None:
            return math.inf
        return max(
            0, math.floor(rules.rate.burst - (self.next_start(now, rules.rate) - now) / rules.rate.interval)
        )

    def next_start(self, now: float, rate: Rate) -> float:
        """When the next job would start if all so far had started evenly; not before now."""
        at = self.rate_at or 0.0
        # Further ahead than a whole burst only a clock that was stepped back puts it.
        return max(now, at) if at <= now + rate.burst * rate.interval + _ROUNDING else now

    def tries(self, rules: Rules) -> bool:
        """Whether its next job is the one that is tried, after so many failed in a row."""
        return rules.breaker is not None and (self.failures or 0) >= rules.breaker.failures

    def held_until(self, now: float, rules: Rules) -> float:
        """Until when failures in a row hold it; what is past, means nothing."""
        until = self.broken_until or 0.0
        known = rules.breaker is not None and until <= now + rules.breaker.pause
        return until if known and self.tries(rules) else 0.0

    def rated_until(self, now: float, rules: Rules) -> float:
        """When its rate lets the next job start; what is past, means nothing."""
        if rules.rate is None:
            return 0.0
        return self.next_start(now, rules.rate) - (rules.rate.burst - 1) * rules.rate.interval - _ROUNDING


Seek = Callable[[str], Row | None]
"""Finds the head of the first queue in the database that is not before a name."""


class Turns:
    """The served queues, sorted as the database sorts their names."""

    def __init__(self, queues: Sequence[Rules]) -> None:
        self._rules = sorted(queues, key=lambda rules: rules.name.encode())
        self._names = [rules.name.encode() for rules in self._rules]

    def rules_of(self, queue: str) -> Rules | None:
        """Those of a queue, where it is served."""
        return next((rules for rules in self._rules if rules.name == queue), None)

    def heads(self, seek: Seek, after: str = "") -> Iterator[tuple[Rules, Head]]:
        """Every served queue that has a head, with it, beginning behind `after` and once around."""
        start = bisect_right(self._names, after.encode())
        yield from self._between(seek, start, len(self._names))
        yield from self._between(seek, 0, start)

    def _between(self, seek: Seek, place: int, end: int) -> Iterator[tuple[Rules, Head]]:
        """Leaps to and fro between both lists, so that it costs no more than either is long.

        Neither a thousand served queues that are empty nor a thousand strange ones that are not are
        looked at one by one.
        """
        while place < end and (row := seek(self._rules[place].name)):
            leapt = bisect_left(self._names, row[1], place, end)
            if leapt < end and self._names[leapt] == row[1]:
                yield self._rules[leapt], Head(*row)
                leapt += 1
            place = leapt
