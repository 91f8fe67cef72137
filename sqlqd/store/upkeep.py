"""What the steward asks: what waits, and who is gone."""

import math

from sqlqd.model import Outlook
from sqlqd.store import statements as sql
from sqlqd.store.claiming import due_row, paused_until, room
from sqlqd.store.database import Database, Moment, Row, Wait
from sqlqd.store.turns import Head, Turns


def outlook(database: Database, turns: Turns, limit: int, now: float) -> Outlook:
    """How many jobs could be claimed, up to `limit`, and when the next could be."""
    paused = paused_until(database, now)
    if paused is not None:
        return Outlook(0, None if math.isinf(paused) else paused)
    due = 0
    times: list[float] = []
    for rules, head in turns.heads(lambda name: database.one(sql.LOST_HEAD, (name,))):
        if head.closed_until(now, rules) is None:
            most = min(limit - due, room(database, rules, taken=1), head.starts(now, rules))
            due += _counted(database, sql.LOST_UP_TO, rules.name, most)
    for rules, head in turns.heads(lambda name: database.one(sql.WAITING_HEAD, (name,))):
        closed = head.closed_until(now, rules)
        if closed is not None:
            times.append(closed)
            continue
        free = min(room(database, rules), 1 if head.tries(rules) else head.starts(now, rules))
        if free <= 0:
            # Whoever finishes one of its jobs claims the next: nothing to wake anyone for.
            continue
        waiting, next_at = _queue_outlook(database, rules.name, head, min(limit - due, free), now)
        if rules.exclusive and waiting:
            # Those of one key follow one another by themselves: whoever ends one claims the next.
            waiting = int(due_row(database, rules, head, now) is not None)
        due += waiting
        times.append(next_at)
    soonest = min(times, default=math.inf)
    return Outlook(due, None if math.isinf(soonest) else soonest)


def _queue_outlook(database: Database, queue: str, head: Head, most: float, now: float) -> tuple[int, float]:
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
    """Forget daemons, and workers of daemons, that are not among the living. Hardly waits for a lock."""
    known = database.read(lambda _: database.all(sql.DAEMON_PIDS))
    gone = {pid for (pid,) in known} - alive

    def body(_: Moment) -> None:
        for pid in gone:
            database.run(sql.FORGET_DAEMON, (pid,))
            database.run(sql.FORGET_WORKERS_OF, (pid,))

    if gone:
        database.write(body, synced=False, wait=Wait.BRIEF)
