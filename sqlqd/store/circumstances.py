"""One job and all that decides when it runs: what `why` reads, on one view of the data."""

import math
from dataclasses import replace
from typing import Any

from sqlqd.circumstances import MOST_AHEAD, Circumstances, Held
from sqlqd.model import LATEST, Ask, Record, Rules, State
from sqlqd.store import pauses, requests, survey
from sqlqd.store import statements as sql
from sqlqd.store.claiming import due_row, room
from sqlqd.store.database import Database, Moment, Row
from sqlqd.store.schema import WITH_REQUESTS
from sqlqd.store.selecting import LIVE, Place
from sqlqd.store.turns import LONGEST_BLOCK, Head, Turns

_NAMED = 3
"""Holders of a queue's slots that are named."""
_MOST_HELD = 10_000
_ABOVE_ALL = 101
"""A priority that no job has."""

_LEASE = """
SELECT CAST(locked_by AS BLOB), locked_until, lease_boot, lease_end, lost FROM jobs
WHERE rowid = ? AND locked_by IS NOT NULL
"""

_HOLDERS = """
SELECT CAST(id AS BLOB) FROM jobs INDEXED BY jobs_held
WHERE locked_by IS NOT NULL AND queue = ? AND rowid <> ? LIMIT ?
"""

_KEY_HOLDER = """
SELECT CAST(id AS BLOB) FROM jobs INDEXED BY jobs_key_held
WHERE key IS NOT NULL AND locked_by IS NOT NULL AND queue = ? AND key = ? LIMIT 1
"""

_BLOCKED = "SELECT blocked_until, reason FROM sqlqd_queues WHERE queue = ? AND blocked_until > ?"

_EARLIER = """
SELECT count(*) FROM (
    SELECT 1 FROM jobs INDEXED BY jobs_waiting
    WHERE locked_by IS NULL AND queue = ? AND priority = ? AND run_at < ? LIMIT ?
)
"""

# Jobs that were added together have the same moment.
_BESIDE = """
SELECT count(*) FROM (
    SELECT 1 FROM jobs INDEXED BY jobs_waiting
    WHERE locked_by IS NULL AND queue = ? AND priority = ? AND run_at = ? AND rowid < ? LIMIT ?
)
"""


def of(database: Database, id_or_prefix: str, turns: Turns, now: Moment) -> Circumstances | None:
    """The job and its circumstances; None: there is none. Raises SeveralJobs."""
    found = survey.placed(database, id_or_prefix, now)
    if found is None:
        return None
    place, job = found
    plain = Circumstances(now.wall, job, workers=survey.workers(database), daemons=survey.daemons(database))
    if place.table != LIVE:
        return plain
    blocked_until, reason = _blocked(database, job.queue, now.wall)
    held = _held(database, place, now)
    rules = turns.rules_of(job.queue)
    if rules is not None and held is None:
        plain = replace(plain, **_by_rules(database, job, rules, now.wall))
    plain = replace(
        plain,
        held=held,
        pauses=tuple(one for one in pauses.in_force(database, now.wall) if one.queue in {"", job.queue}),
        blocked_until=plain.blocked_until if blocked_until is None else blocked_until,
        failures=plain.failures if blocked_until is None else 0,
        blocked_reason=reason,
        leased=_leased(database, job.queue) - (held is not None),
        holders=_holders(database, job.queue, place.row),
        rivals=_rivals(database, turns, job.queue, now.wall),
    )
    waits = held is None and job.state is State.READY
    return replace(plain, ahead=_ahead(database, job, place.row, now.wall)) if waits else plain


def _by_rules(database: Database, job: Record, rules: Rules, now: float) -> dict[str, Any]:
    """What its queue's own promises have to do with it."""
    found: dict[str, Any] = {}
    row = database.one(sql.WAITING_HEAD, (rules.name,))
    if row is not None and row[1] == rules.name.encode():
        head = Head(*row)
        if (held := head.held_until(now, rules)) > now:
            found |= {"blocked_until": held, "failures": head.failures}
        if (rated := head.rated_until(now, rules)) > now:
            found |= {"rated_until": rated}
    if job.key is not None and (job.run_at or 0.0) >= LATEST:
        holder = database.one(sql.LIVE_BY_KEY, (job.queue, job.key))
        return {"turn_of": None if holder is None else holder[0].decode(errors="replace")}
    if rules.exclusive and job.key is not None:
        holder = database.one(_KEY_HOLDER, (rules.name, job.key))
        found |= {"turn_of": None if holder is None else holder[0].decode(errors="replace")}
    return found


def _held(database: Database, place: Place, now: Moment) -> Held | None:
    row = database.one(_LEASE, (place.row,))
    if row is None:
        return None
    token, until, boot, end, lost = row
    ours = database.clock.boot()
    return Held(
        token=token.decode(errors="replace"),
        left=_left(until, boot, end, ours, now),
        lost=lost == 1,
        earlier_boot=isinstance(boot, str) and boot != ours,
        asked=_asked(database, place.row),
    )


def _left(until: object, boot: object, end: object, ours: str, now: Moment) -> float | None:
    if boot == ours and isinstance(end, float) and math.isfinite(end):
        return end - now.awake
    if boot is None and end is None and isinstance(until, int | float) and math.isfinite(until):
        return until - now.wall
    return None


def _asked(database: Database, row: int) -> Ask | None:
    return requests.of_row(database, row) if database.schema >= WITH_REQUESTS else None


def _blocked(database: Database, queue: str, now: float) -> tuple[float | None, str | None]:
    row: Row | None = database.one(_BLOCKED, (queue, now))
    if row is None or row[0] > now + LONGEST_BLOCK:
        return None, None
    return row[0], row[1]


def _leased(database: Database, queue: str) -> int:
    return _count(database, sql.HELD_UP_TO, queue, _MOST_HELD)


def _holders(database: Database, queue: str, row: int) -> tuple[str, ...]:
    rows = database.all(_HOLDERS, (queue, row, _NAMED))
    return tuple(name.decode(errors="replace") for (name,) in rows)


def _rivals(database: Database, turns: Turns, queue: str, now: float) -> int:
    heads = turns.heads(lambda name: database.one(sql.WAITING_HEAD, (name,)))
    return sum(
        1
        for rules, head in heads
        if rules.name != queue
        and head.closed_until(now, rules) is None
        and due_row(database, rules, head, now) is not None
        and room(database, rules) > 0
    )


def _ahead(database: Database, job: Record, row: int, now: float) -> int:
    """Lost jobs, then higher priorities, then earlier moments, then the order of arrival."""
    if job.priority is None or job.run_at is None:
        return 0
    queue, priority = job.queue, job.priority
    ahead = _count(database, sql.LOST_UP_TO, queue, MOST_AHEAD)
    higher = _lower(database, queue, _ABOVE_ALL)
    while higher is not None and higher > priority and ahead < MOST_AHEAD:
        ahead += _count(database, sql.DUE_UP_TO, queue, higher, now, MOST_AHEAD - ahead)
        higher = _lower(database, queue, higher)
    ahead += _count(database, _EARLIER, queue, priority, job.run_at, MOST_AHEAD - ahead)
    return ahead + _count(database, _BESIDE, queue, priority, job.run_at, row, MOST_AHEAD - ahead)


def _lower(database: Database, queue: str, priority: int) -> int | None:
    row = database.one(sql.LOWER_HEAD, (queue, priority))
    return row[1] if row is not None and isinstance(row[1], int) else None


def _count(database: Database, statement: str, *values: str | float) -> int:
    row = database.one(statement, values)
    return int(row[0]) if row else 0
