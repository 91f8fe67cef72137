"""Keeping the file small: what is out of date goes, in steps that have the lock for milliseconds."""

import math
from collections.abc import Iterator, Sequence

from sqlqd.model import Rules
from sqlqd.store import pauses
from sqlqd.store import statements as sql
from sqlqd.store.database import Database, Moment, Values
from sqlqd.store.ledger import SLOT

_KEPT_DONE = 100_000
_COUNTED_FOR = 7200.0
"""Seconds for which counters keep their slots."""
_WALK = 50
"""Attempts looked at in one step, for those of jobs that plain SQL deleted."""
_ROWS_A_SECOND = 20_000
"""Deleted, at the slowest that was measured: turns a budget of time into one of rows."""
_ROOM = 1024
"""Free pages that a file may always keep, for its next jobs."""

_Step = tuple[tuple[str, Values], ...]
"""Statements that belong together, with their values."""


class Housekeeping:
    """What is done from time to time, with its place in the one table that it walks."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._walked = 0
        self._gives_back = False

    def tidy(self, queues: Sequence[Rules], budget: float) -> bool:
        """One step of about `budget` seconds. True: there is more to do. Idle, it only reads."""
        rows = max(1, int(budget * _ROWS_A_SECOND))
        entries = self._database.read(lambda _: self._database.all(sql.ATTEMPTS_FROM, (self._walked, _WALK)))
        orphans = [entry for entry, known in entries if not known]

        def body(now: Moment) -> bool:
            end = self._database.clock.awake() + budget
            for done, step in enumerate(self._steps(queues, orphans, now.wall, rows), start=1):
                for statement, values in step:
                    self._database.all(statement, values)
                if done >= rows or self._database.clock.awake() >= end:
                    return True
            return False

        has_work = self._database.read(
            lambda now: next(self._steps(queues, orphans, now.wall, 1), None) is not None
        )
        more = has_work and self._database.write(body, synced=False)
        self._walked = entries[-1][0] if entries else 0
        return more

    def _steps(self, queues: Sequence[Rules], orphans: list[int], now: float, limit: int) -> Iterator[_Step]:
        every = self._database.all
        for statement, value in ((sql.EXPIRED_DONE, now), (sql.SURPLUS_DONE, _KEPT_DONE)):
            yield from (((sql.DELETE_DONE, row),) for row in every(statement, (value, limit)))
        for rules in queues:
            yield from self._old_dead(rules, now, limit)
        oldest = int((now - _COUNTED_FOR) // SLOT)
        for queue, slot, outcome, n in every(sql.OLD_COUNTERS, (oldest, limit)):
            fold = (sql.FOLD_COUNTER, (queue, outcome, n))
            yield fold, (sql.DELETE_COUNTER, (queue, slot, outcome))
        yield from (((sql.DELETE_REQUEST, row),) for row in every(sql.OVER_REQUESTS, (limit,)))
        yield from (((sql.DELETE_PROGRESS, row),) for row in every(sql.OVER_PROGRESS, (limit,)))
        yield from (pauses.ending(queue) for (queue,) in every(sql.OVER_PAUSES, (now,)))
        yield from (((sql.DELETE_ORPHAN, (entry,)),) for entry in orphans)
        yield from self._surplus_pages()

    def _old_dead(self, rules: Rules, now: float, limit: int) -> Iterator[_Step]:
        if math.isinf(rules.keep_dead):
            return
        for row in self._database.all(sql.EXPIRED_DEAD, (rules.name, now - rules.keep_dead, limit)):
            yield (sql.FORGET_DEAD_ATTEMPTS, row), (sql.DELETE_DEAD, row)

    def _surplus_pages(self) -> Iterator[_Step]:
        """From half of the file on, until a quarter of it is free: what is in use grows and shrinks daily."""
        share = 4 if self._gives_back else 2
        while self._number(sql.FREE_PAGES) > max(_ROOM, self._number(sql.PAGES) // share):
            if not self._number(sql.VACUUM_MODE):
                return
            self._gives_back, share = True, 4
            yield ((sql.GIVE_PAGES_BACK, ()),)
        self._gives_back = False

    def _number(self, pragma: str) -> int:
        return int(self._database.all(pragma)[0][0])
