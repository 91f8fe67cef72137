"""The operator's verbs: taking away, bringing back and deleting jobs by selection, in short transactions."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from sqlqd.model import SHORTEST_PREFIX, Ask, Record, Selection, State, Touched
from sqlqd.store import leases, requests
from sqlqd.store import statements as sql
from sqlqd.store.database import Database, Moment
from sqlqd.store.selecting import (
    DEAD,
    DONE,
    FIRST_ROW,
    LAST_ROW,
    LIVE,
    PAGE,
    Placed,
    SeveralJobs,
    Span,
    at,
    page,
    places,
)

_REVIVE = """
INSERT INTO jobs (id, queue, key, priority, run_at, created_at, attempts, max_attempts, payload, last_error,
    shared)
SELECT id, queue, key, priority, ?2, created_at, 0, max_attempts, payload,
    CASE WHEN octet_length(last_error) <= 65536 THEN last_error END, shared
FROM dead_jobs WHERE rowid = ?1
"""

_LIVE_WITH_ID = "SELECT 1 FROM jobs WHERE id = (SELECT id FROM dead_jobs WHERE rowid = ?)"

_LIVE_WITH_KEY = """
SELECT CAST(j.id AS BLOB) FROM dead_jobs AS d JOIN jobs AS j ON j.queue = d.queue AND j.key = d.key
WHERE d.rowid = ? AND d.shared = 0 AND j.shared = 0
"""

_DUE_NOW = """
UPDATE jobs SET run_at = ?, last_error = CASE WHEN octet_length(last_error) <= 65536 THEN last_error END
WHERE rowid = ?
"""


_LIVE_STATES = frozenset({State.READY, State.SCHEDULED, State.RUNNING})

_NEVER_FAILED = "is scheduled and has not failed"


def _unknown(given: str) -> str:
    if len(given) < SHORTEST_PREFIX:
        return f"no such job; a prefix needs at least {SHORTEST_PREFIX} characters"
    return "no such job"


class _Verb(NamedTuple):
    """What a verb acts on where the selection names no state, why it leaves a job alone, and what it does."""

    states: frozenset[State]
    refuses: Callable[[Database, Placed, Moment], str | None]
    acts: Callable[[Database, Placed, Moment], str | None]
    """Its result says why that could not be, as a reason to leave the job alone."""


def retry(database: Database, selection: Selection, *, dry_run: bool) -> Touched:
    """Dead jobs live again with fresh attempts; those waiting in backoff are due now."""
    return _Work(database, selection, _RETRY, dry_run=dry_run).done()


def cancel(database: Database, selection: Selection, *, dry_run: bool) -> Touched:
    """Take waiting jobs away, each recorded as cancelled; running ones are asked to end so."""
    return _Work(database, selection, _CANCEL, dry_run=dry_run).done()


def kill(database: Database, selection: Selection, *, bury: bool, dry_run: bool) -> Touched:
    """Ask running attempts to end; `bury`: for good, and waiting jobs too."""
    return _Work(database, selection, _BURY if bury else _KILL, dry_run=dry_run).done()


def purge(database: Database, selection: Selection, *, dry_run: bool) -> Touched:
    """Delete dead jobs, or the records of ended ones."""
    return _Work(database, selection, _PURGE, dry_run=dry_run).done()


class _Step:
    """What one transaction touched and left alone; counts only once it is committed."""

    def __init__(self) -> None:
        self.found: list[Placed] = []
        self.touched: list[Record] = []
        self.skipped: list[tuple[str, str]] = []


class _Work:
    """One verb on its way through a selection, in steps that are a transaction each."""

    def __init__(self, database: Database, selection: Selection, verb: _Verb, *, dry_run: bool) -> None:
        self._database = database
        self._selection = selection
        self._verb = verb
        self._dry_run = dry_run
        self._left = LAST_ROW if selection.limit is None else selection.limit
        self._touched: list[Record] = []
        self._skipped: list[tuple[str, str]] = []

    def done(self) -> Touched:
        """Do all of it."""
        ids = tuple(dict.fromkeys(self._selection.ids))
        for start in range(0, len(ids), PAGE):
            self._step(partial(self._named, ids[start : start + PAGE]))
        if not ids:
            self._selection = replace(self._selection, states=self._selection.states or self._verb.states)
            for table in (LIVE, DEAD, DONE):
                self._table(table)
        return Touched(tuple(self._touched), tuple(self._skipped))

    def _table(self, table: str) -> None:
        first, more = FIRST_ROW, True
        while more and self._left and first <= LAST_ROW:
            found = self._step(partial(self._paged, table, first)).found
            more = len(found) == PAGE
            first = found[-1].place.row + 1 if found else first

    def _step(self, body: Callable[[Moment], _Step]) -> _Step:
        step = self._database.read(body) if self._dry_run else self._database.write(body, synced=True)
        self._touched += step.touched
        self._skipped += step.skipped
        self._left -= len(step.touched)
        return step

    def _paged(self, table: str, first: int, now: Moment) -> _Step:
        step = _Step()
        step.found = page(self._database, self._selection, table, now, Span(first))
        for placed in step.found:
            self._treat(placed, step, now)
        return step

    def _named(self, ids: tuple[str, ...], now: Moment) -> _Step:
        step = _Step()
        for given in ids:
            try:
                found = places(self._database, given)
            except SeveralJobs:
                step.skipped.append((given, "fits several jobs"))
                continue
            jobs = [placed for place in found for placed in at(self._database, place, self._selection, now)]
            if not jobs:
                step.skipped.append((given, "is not in the selection" if found else _unknown(given)))
            for placed in jobs:
                self._treat(placed, step, now)
        return step

    def _treat(self, placed: Placed, step: _Step, now: Moment) -> None:
        if len(step.touched) >= self._left:
            return
        reason = self._verb.refuses(self._database, placed, now)
        if reason is None and not self._dry_run:
            reason = self._verb.acts(self._database, placed, now)
        if reason is None:
            step.touched.append(placed.record)
        elif self._selection.ids or reason != _NEVER_FAILED:
            step.skipped.append((placed.record.id, reason))


def _refuses_retry(database: Database, placed: Placed, now: Moment) -> str | None:
    record, row = placed.record, placed.place.row
    if record.state is State.RUNNING and leases.is_nobodys(database, row, now):
        return None
    if record.state is State.SCHEDULED:
        return None if record.attempts or record.last_error is not None else _NEVER_FAILED
    if record.state is not State.DEAD:
        return f"is {record.state.value}"
    if database.one(_LIVE_WITH_ID, (row,)):
        return "a live job has its id"
    holder = database.one(_LIVE_WITH_KEY, (row,))
    return f"its key is held by the live job {holder[0].decode(errors='replace')}" if holder else None


def _retry(database: Database, placed: Placed, now: Moment) -> str | None:
    row = placed.place.row
    if placed.record.state is State.RUNNING:
        leases.end(database, [(row, 0)], "the lease was over", now.wall)
    if placed.record.state in {State.SCHEDULED, State.RUNNING}:
        return database.refusal(_DUE_NOW, (now.wall, row))
    rule = database.refusal(_REVIVE, (row, now.wall))
    if rule is None:
        database.run(sql.DELETE_DEAD, (row,))
    return rule


def _refuses_cancel(_: Database, placed: Placed, __: Moment) -> str | None:
    state = placed.record.state
    return None if state in _LIVE_STATES else f"is {state.value}"


def _refuses_kill(_: Database, placed: Placed, __: Moment) -> str | None:
    state = placed.record.state
    return None if state is State.RUNNING else f"is {state.value}, not running"


def _end(ask: Ask, database: Database, placed: Placed, now: Moment) -> str | None:
    """Ask it of whoever runs the job; do it where nobody does."""
    row, record = placed.place.row, placed.record
    if record.state is State.RUNNING and not leases.is_nobodys(database, row, now):
        requests.put(database, row, ask, now.wall)
    elif not requests.end(database, row, record.queue, ask, now.wall):
        leases.end(database, [(row, 1)], "the lease was over", now.wall)
    return None


def _refuses_purge(_: Database, placed: Placed, __: Moment) -> str | None:
    state = placed.record.state
    return None if state in {State.DEAD, State.DONE} else f"is {state.value}"


def _purge(database: Database, placed: Placed, _: Moment) -> str | None:
    row = placed.place.row
    if placed.record.state is State.DONE:
        database.run(sql.DELETE_DONE, (row,))
    else:
        database.run(sql.FORGET_DEAD_ATTEMPTS, (row,))
        database.run(sql.DELETE_DEAD, (row,))
    return None


_RETRY = _Verb(frozenset({State.DEAD, State.SCHEDULED}), _refuses_retry, _retry)
_CANCEL = _Verb(_LIVE_STATES, _refuses_cancel, partial(_end, Ask.CANCEL))
_BURY = _Verb(_LIVE_STATES, _refuses_cancel, partial(_end, Ask.BURY))
_KILL = _Verb(frozenset({State.RUNNING}), _refuses_kill, partial(_end, Ask.KILL))
_PURGE = _Verb(frozenset({State.DEAD}), _refuses_purge, _purge)
