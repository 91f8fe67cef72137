"""Giving out the next job, inside a transaction; burying on the way what can never run."""

import math
import os
from typing import NamedTuple

from sqlqd.model import Buried, Claim, Holder, Job, Rules, Taken
from sqlqd.store import statements as sql
from sqlqd.store.database import Database, Moment
from sqlqd.store.ledger import bury
from sqlqd.store.turns import Head, Turns
from sqlqd.units import spell

_MOST_BURIED = 50
"""In one transaction: then others have the lock, and the caller looks again."""

_PROBE = 10.0
"""Seconds that one worker has to start a held queue's command before the next may try."""

_ANY_SIZE = 1 << 40


class _Found(NamedTuple):
    rowid: int
    rules: Rules
    head: Head

    @property
    def blocks(self) -> int:
        """How often in a row the queue's command could not be started."""
        return self.head.blocks or 0


class _Candidate(NamedTuple):
    """A row of `sql.CANDIDATE`."""

    id: bytes
    key: bytes | None
    payload: bytes | None
    size: int
    priority: int
    run_at: float
    attempts: int
    max_attempts: int | None
    created_at: float
    last_error: bytes | None
    crashes: int
    lost: int
    expires_at: float | None
    shared: int


def take(database: Database, turns: Turns, holder: Holder, after: str, now: Moment) -> Taken:
    """The next job under a fresh token, if there is one, and what was buried before it was found."""
    buried: list[Buried] = []
    while len(buried) < _MOST_BURIED and (found := _next(database, turns, after, now.wall)):
        limit = _ANY_SIZE if found.rules.max_payload is None else found.rules.max_payload
        row = _Candidate(*database.one(sql.CANDIDATE, (found.rowid, limit)) or ())
        reason = (
            _why_odd(row)
            or _why_never(row, found.rules)
            or _why_late(row, found.rules, now.wall)
            or _why_not_json(database, found)
        )
        given = reason or _give(database, found, row, holder, now)
        if isinstance(given, Claim):
            return Taken(given, tuple(buried))
        database.insist_on_sync()
        buried.append(_bury(database, found, row, given, now.wall))
    return Taken(None, tuple(buried))


def _next(database: Database, turns: Turns, after: str, now: float) -> _Found | None:
    if paused_until(database, now) is not None:
        return None
    for rules, head in turns.heads(lambda name: database.one(sql.LOST_HEAD, (name,)), after):
        # A lost job counts as running; taking it over adds none.
        if head.closed_until(now, rules) is None and room(database, rules, taken=1) > 0:
            return _Found(head.rowid, rules, head)
    for rules, head in turns.heads(lambda name: database.one(sql.WAITING_HEAD, (name,)), after):
        if head.closed_until(now, rules) is None:
            due = due_row(database, rules, head, now)
            if due is not None and room(database, rules) > 0:
                return _Found(due, rules, head)
    return None


def paused_until(database: Database, now: float) -> float | None:
    """Until when all queues are paused; infinity: without an end; None: they are not."""
    row = database.one(sql.PAUSE_OF_ALL)
    if row is None:
        return None
    until = math.inf if row[1] is None else float(row[1])
    return until if until > now else None


def due_row(database: Database, rules: Rules, head: Head, now: float) -> int | None:
    """The first row of the highest priority that has one due. There are 201 priorities at most."""
    if rules.exclusive:
        return _exclusive_row(database, rules, head, now)
    if head.run_at <= now:
        return head.rowid
    lower = database.one(sql.LOWER_HEAD, (rules.name, head.priority))
    if lower is None:
        return None
    rowid, priority, run_at = lower
    if run_at <= now:
        return int(rowid)
    below = database.one(sql.DUE_BELOW, (rules.name, priority, now))
    return None if below is None else int(below[0])


def _exclusive_row(database: Database, rules: Rules, head: Head, now: float) -> int | None:
    """The first due row of the highest priority whose key does not run."""
    priority: int | None = head.priority
    while priority is not None:
        found = database.one(sql.EXCLUSIVE_DUE, (rules.name, priority, now))
        if found is not None:
            return int(found[0])
        lower = database.one(sql.LOWER_HEAD, (rules.name, priority))
        priority = None if lower is None else int(lower[1])
    return None


def room(database: Database, rules: Rules, *, taken: int = 0) -> int:
    """How many more of the queue may be leased, not counting `taken` of those that are."""
    if rules.concurrency is None:
        return _ANY_SIZE
    held = database.one(sql.HELD_UP_TO, (rules.name, rules.concurrency + taken))
    return rules.concurrency + taken - (held[0] if held else 0)


def _why_odd(row: _Candidate) -> str | None:
    """What is no number although it has to be: such a row came past the schema's checks."""
    numbers = {"run_at": row.run_at, "created_at": row.created_at, "attempts": row.attempts}
    numbers |= {"max_attempts": row.max_attempts or 0, "crashes": row.crashes, "priority": row.priority}
    odd = [name for name, value in numbers.items() if not isinstance(value, int | float)]
    return f"{', '.join(odd)} must be a number" if odd else None


def _why_never(row: _Candidate, rules: Rules) -> str | None:
    """Why a job can never run (again); None: it can."""
    if row.payload is None:
        return f"the payload has {row.size} bytes, over the queue's limit of {rules.max_payload}"
    for name, value in (("id", row.id), ("key", row.key or b""), ("payload", row.payload)):
        if not _is_text(value):
            return f"the {name} is not valid UTF-8"
    most = row.max_attempts or rules.max_attempts
    if row.lost and row.crashes >= rules.max_crashes:
        return f"worker lost: {row.crashes} of {rules.max_crashes} crashes"
    if row.attempts >= most:
        return f"{'worker lost' if row.lost else 'attempts used up'}: {row.attempts} of {most} attempts"
    return None


def _why_late(row: _Candidate, rules: Rules, now: float) -> str | None:
    """Why a job is not started any more; a moment of its own counts before its queue's."""
    end = row.expires_at
    if not isinstance(end, int | float):
        end = row.created_at + rules.expires
    return None if now <= end else f"expired {spell(math.ceil(now - end))} ago, before it could be started"


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _why_not_json(database: Database, found: _Found) -> str | None:
    if not found.rules.json:
        return None
    valid = database.one(sql.IS_JSON, (found.rowid,))
    return None if valid and valid[0] else "the payload is not valid JSON"


def _give(database: Database, found: _Found, row: _Candidate, holder: Holder, now: Moment) -> Claim | str:
    """The claim; or why the schema does not let the row be given to anybody."""
    rules = found.rules
    token = f"{holder.uid}/{holder.slot}/{holder.pid}/{os.urandom(16).hex()}"
    until, until_awake = now.wall + rules.lease, now.awake + rules.lease
    boot = database.clock.boot()
    rule = database.refusal(sql.GIVE, (token, until, now.wall, boot, until_awake, found.rowid))
    if rule is not None:
        return f"the row is none that can run: {rule}"
    _count_start(database, found, now.wall)
    if found.blocks:
        # One tries whether the command can be started again, not everyone at once.
        database.run(sql.PROBE_QUEUE, (now.wall + _PROBE, rules.name))
    job = Job(
        id=row.id.decode(),
        queue=rules.name,
        payload=(row.payload or b"").decode(),
        priority=row.priority,
        run_at=row.run_at,
        attempts=row.attempts + 1,
        max_attempts=row.max_attempts,
        key=None if row.key is None else row.key.decode(),
        created_at=row.created_at,
        last_error=None if row.last_error is None else row.last_error.decode(errors="replace"),
        crashes=row.crashes,
        shared=bool(row.shared),
    )
    return Claim(
        job=job,
        token=token,
        max_attempts=row.max_attempts or rules.max_attempts,
        claimed_at=now.wall,
        until=until,
        until_awake=until_awake,
        keep_done=rules.keep_done,
        blocks=found.blocks,
        breaker=rules.breaker,
        on_dead=rules.on_dead,
    )


def _count_start(database: Database, found: _Found, now: float) -> None:
    """What a queue with a rate, or whose jobs failed one after the other, remembers of a start."""
    rules, head = found.rules, found.head
    if rules.rate is not None:
        at = head.next_start(now, rules.rate) + rules.rate.interval
        database.run(sql.COUNT_START, (rules.name, at))
    if rules.breaker is not None and head.tries(rules):
        # One is tried; the next one after as long a pause, unless it succeeds.
        database.run(sql.BREAK, (rules.name, now, now + rules.breaker.pause))


def _bury(database: Database, found: _Found, row: _Candidate, reason: str, now: float) -> Buried:
    bury(database, found.rowid, found.rules.name, reason, now, heir=found.rules.on_dead)
    attempts = row.attempts if isinstance(row.attempts, int) else 0
    return Buried(row.id.decode(errors="replace"), found.rules.name, attempts, reason)
