"""What the steward asks and does: what waits, who is gone, and housekeeping in small steps."""

import math

from sqlqd.model import Outlook
from sqlqd.store import pauses
from sqlqd.store import statements as sql
from sqlqd.store.claiming import paused_until, room
from sqlqd.store.database import Database, Moment, Row
from sqlqd.store.ledger import SLOT
from sqlqd.store.turns import Head, Turns

_KEPT_DONE = 100_000
_COUNTED_FOR = 7200.0
"""Seconds for which counters keep their slots."""
_WALK = 50
"""Attempts looked at in one step, for those of jobs that plain SQL deleted."""
_ROWS_A_SECOND = 20_000
"""Deleted, at the slowest that was measured: turns a budget of time into one of rows."""


def outlook(database: Database, turns: Turns, limit: int, now: float) -> Outlook:
    """How many jobs could be claimed, up to `limit`, and when the next could be."""
    paused = paused_until(database, now)
    if paused is not None:
        return Outlook(0, None if math.isinf(paused) else paused)
    due = 0
    times: list[float] = []
    for rules, head in turns.heads(lambda name: database.one(sql.LOST_HEAD, (name,))):
        if head.closed_until(now) is None:
            most = min(limit - due, room(database, rules, taken=1))
            due += _counted(database, sql.LOST_UP_TO, rules.name, most)
    for rules, head in turns.heads(lambda name: database.one(sql.WAITING_HEAD, (name,))):
        closed = head.closed_until(now)
        if closed is not None:
            times.append(closed)
            continue
        free = room(database, rules)
        if free <= 0:
            # Whoever finishes one of its jobs claims the next: nothing to wake anyone for.
            continue
        waiting, next_at = _queue_outlook(database, rules.name, head, min(limit - due, free), now)
        due += waiting
        times.append(next_at)
    soonest = min(times, default=math.inf)
    return Outlook(due, None if math.isinf(soonest) else soonest)


def _queue_outlook(database: Database, queue: str, head: Head, most: int, now: float) -> tuple[int, float]:
    due, next_at = 0, math.inf
    lower: Row | None = (head.rowid, head.priority, head.run_at)
    while lower is not None:
        _, priority, run_at = lower
        if run_at <= now:
            due += _counted(database, sql.DUE_UP_TO, queue, priority, now, most - due)
            later = database.one(sql.NEXT_RUN_AT, (queue, priority, now))
            run_at = later[0] if later else math.inf
        next_at = min(next_at, run_at)
        lower = database.one(sql.LOWER_HEAD, (queue, priority))
    return due, next_at


def _counted(database: Database, statement: str, *values: str | float) -> int:
    """A count up to a limit, which comes last; a negative one would be none for SQLite."""
    *others, limit = values
    row = database.one(statement, (*others, max(0, int(limit))))
    return int(row[0]) if row else 0


def forget_daemons(database: Database, alive: frozenset[int]) -> None:
    """Forget daemons, and workers of daemons, that are not among the living."""
    known = database.read(lambda _: database.all(sql.DAEMON_PIDS))
    gone = {pid for (pid,) in known} - alive

    def body(_: Moment) -> None:
        for pid in gone:
            database.run(sql.FORGET_DAEMON, (pid,))
            database.run(sql.FORGET_WORKERS_OF, (pid,))

    if gone:
        database.write(body, synced=False)


class Upkeep:
    """Housekeeping, with its place in the one table that it walks."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._walked = 0

    def tidy(self, budget: float) -> bool:
        """One step of about `budget` seconds. True: there is more to do. Idle, it only reads."""
        rows = max(1, int(budget * _ROWS_A_SECOND))
        entries = self._database.read(lambda _: self._database.all(sql.ATTEMPTS_FROM, (self._walked, _WALK)))
        orphans = [entry for entry, known in entries if not known]
        more = False
        if orphans or self._is_overdue():
            more = self._database.write(
                lambda now: _tidy(self._database, orphans, rows, now.wall), synced=False
            )
        self._walked = entries[-1][0] if entries else 0
        return more

    def _is_overdue(self) -> bool:
        database = self._database
        return database.read(
            lambda now: bool(
                database.one(sql.EXPIRED_DONE, (now.wall, 1))
                or database.one(sql.SURPLUS_DONE, (_KEPT_DONE, 1))
                or database.one(sql.OLD_COUNTERS, (_oldest_slot(now.wall), 1))
                or database.one(sql.OVER_REQUESTS, (1,))
                or database.one(sql.OVER_PAUSES, (now.wall,))
            )
        )


def _tidy(database: Database, orphans: list[int], rows: int, now: float) -> bool:
    left = rows
    for statement, value in ((sql.EXPIRED_DONE, now), (sql.SURPLUS_DONE, _KEPT_DONE)):
        found = database.all(statement, (value, left))
        for row in found:
            database.run(sql.DELETE_DONE, row)
        left -= len(found)
    for queue, slot, outcome, n in database.all(sql.OLD_COUNTERS, (_oldest_slot(now), left)):
        database.run(sql.FOLD_COUNTER, (queue, outcome, n))
        database.run(sql.DELETE_COUNTER, (queue, slot, outcome))
        left -= 1
    for (job_id,) in database.all(sql.OVER_REQUESTS, (rows,)):
        database.run(sql.DELETE_REQUEST, (job_id,))
    pauses.sweep(database, now)
    for entry in orphans:
        database.run(sql.DELETE_ORPHAN, (entry,))
    return left <= 0


def _oldest_slot(now: float) -> int:
    return int((now - _COUNTED_FOR) // SLOT)
