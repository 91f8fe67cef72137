"""Finding jobs for people, wherever they stand: live, dead or done."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlqd.model import SHORTEST_PREFIX, Attempt, Record, Selection, State
from sqlqd.store.database import Database, Moment, Row
from sqlqd.store.failures import StoreError

PAGE = 200
"""Jobs read or changed in one transaction, so that nobody waits long for the lock."""

FIRST_ROW, LAST_ROW = -(1 << 63), (1 << 63) - 1

_LAST_CHARACTER = "\U0010ffff"

LIVE = "live"
DEAD = "dead"
DONE = "done"

_LIVE_PAGE = """
SELECT rowid, CAST(id AS BLOB), CAST(queue AS BLOB), attempts, CAST(key AS BLOB), CAST(payload AS BLOB),
    priority, run_at, locked_until, CAST(locked_by AS BLOB), max_attempts, created_at, claimed_at,
    CASE WHEN octet_length(last_error) <= 1048576 THEN CAST(last_error AS BLOB) END, crashes,
    CASE WHEN locked_by IS NOT NULL AND lost = 0 THEN 'running'
        WHEN locked_by IS NOT NULL OR run_at <= :now THEN 'ready' ELSE 'scheduled' END AS state
FROM jobs
WHERE rowid BETWEEN :first AND :last
    AND (:queue IS NULL OR queue = :queue)
    AND (:key IS NULL OR key = :key)
    AND (:error IS NULL OR instr(last_error, :error) > 0)
    AND (:before IS NULL OR created_at <= :before)
    AND (:behind IS NULL OR created_at >= :behind)
    AND instr(:states, state) > 0
"""

_DEAD_PAGE = """
SELECT rowid, CAST(id AS BLOB), CAST(queue AS BLOB), attempts, CAST(key AS BLOB), CAST(payload AS BLOB),
    priority, run_at, locked_until, CAST(locked_by AS BLOB), max_attempts, created_at, claimed_at,
    CASE WHEN octet_length(last_error) <= 1048576 THEN CAST(last_error AS BLOB) END, crashes, died_at,
    CAST(reason AS BLOB)
FROM dead_jobs
WHERE rowid BETWEEN :first AND :last
    AND (:queue IS NULL OR queue = :queue)
    AND (:key IS NULL OR key = :key)
    AND (:error IS NULL OR instr(last_error, :error) > 0 OR instr(reason, :error) > 0)
    AND (:before IS NULL OR died_at <= :before)
    AND (:behind IS NULL OR died_at >= :behind)
    AND instr(:states, 'dead') > 0
"""

_DONE_PAGE = """
SELECT number, CAST(id AS BLOB), CAST(queue AS BLOB), attempts, CAST(key AS BLOB), ended_at,
    CAST(outcome AS BLOB), duration, exit_code
FROM done_jobs
WHERE number BETWEEN :first AND :last
    AND (:queue IS NULL OR queue = :queue)
    AND (:key IS NULL OR key = :key)
    AND :error IS NULL
    AND (:before IS NULL OR ended_at <= :before)
    AND (:behind IS NULL OR ended_at >= :behind)
    AND instr(:states, 'done') > 0
"""

_WHOLE_ID = """
SELECT 'live', rowid, CAST(id AS BLOB) FROM jobs WHERE id = ?1
UNION ALL SELECT 'dead', rowid, CAST(id AS BLOB) FROM dead_jobs WHERE id = ?1
UNION ALL SELECT 'done', number, CAST(id AS BLOB) FROM done_jobs WHERE id = ?1
"""

_PREFIX = """
SELECT * FROM (
    SELECT 'live', rowid, CAST(id AS BLOB) FROM jobs WHERE id >= ?1 AND id < ?2 LIMIT 2
) UNION ALL SELECT * FROM (
    SELECT 'dead', rowid, CAST(id AS BLOB) FROM dead_jobs WHERE id >= ?1 AND id < ?2 LIMIT 2
) UNION ALL SELECT * FROM (
    SELECT 'done', number, CAST(id AS BLOB) FROM done_jobs WHERE id >= ?1 AND id < ?2 LIMIT 2
)
"""

_HISTORY = """
SELECT number, started_at, ended_at, CAST(outcome AS BLOB), exit_code, signal, cpu, CAST(error AS BLOB),
    CAST(worker AS BLOB)
FROM sqlqd_attempts INDEXED BY sqlqd_attempts_job
WHERE job_id = ? AND started_at BETWEEN 0 AND 1e11 AND ended_at BETWEEN 0 AND 1e11 ORDER BY entry
"""

_PAGES = {
    LIVE: (_LIVE_PAGE, "ORDER BY rowid LIMIT :limit", "ORDER BY rowid DESC LIMIT :limit"),
    DEAD: (_DEAD_PAGE, "ORDER BY rowid LIMIT :limit", "ORDER BY rowid DESC LIMIT :limit"),
    DONE: (_DONE_PAGE, "ORDER BY number LIMIT :limit", "ORDER BY number DESC LIMIT :limit"),
}
"""Of each table the query, and what makes it go from the oldest or from the newest on."""

_LIVING = frozenset({State.READY, State.SCHEDULED, State.RUNNING})
_STANDING = {DEAD: frozenset({State.DEAD}), DONE: frozenset({State.DONE})}
"""The states that a table has jobs of; the rest is live."""

_ALWAYS = ("id", "queue", "attempts", "key")
_WHOLE = (
    *_ALWAYS,
    "payload",
    "priority",
    "run_at",
    "locked_until",
    "locked_by",
    "max_attempts",
    "created_at",
    "claimed_at",
    "last_error",
    "crashes",
)
_NUMBERS = frozenset(
    {
        *("priority", "run_at", "locked_until", "max_attempts", "created_at", "claimed_at", "crashes"),
        *("died_at", "ended_at", "duration", "exit_code", "signal", "cpu"),
    }
)
_COUNTS = frozenset({"attempts", "number"})
_FIELDS = {
    LIVE: (*_WHOLE, "state"),
    DEAD: (*_WHOLE, "died_at", "reason"),
    DONE: (*_ALWAYS, "ended_at", "outcome", "duration", "exit_code"),
}
_ATTEMPT = ("number", "started_at", "ended_at", "outcome", "exit_code", "signal", "cpu", "error", "worker")


class Place(NamedTuple):
    """Where a job stands; good for one transaction, since a VACUUM numbers rows anew."""

    table: str
    row: int


class Placed(NamedTuple):
    """A job and where it stands."""

    place: Place
    record: Record


class SeveralJobs(StoreError):
    """A prefix that fits more than one job."""


@dataclass(frozen=True, slots=True)
class Span:
    """Which rows of a table to look at, both ends included, and how many to take of those that fit."""

    first: int = FIRST_ROW
    last: int = LAST_ROW
    limit: int = PAGE
    newest_first: bool = False


def page(database: Database, selection: Selection, table: str, now: Moment, span: Span) -> list[Placed]:
    """The jobs of one table that fit the selection, its ids apart, in order of arrival or against it."""
    states = (selection.states or frozenset(State)) & _STANDING.get(table, _LIVING)
    if not states:
        # Or all of the table would be read to find none.
        return []
    values = {
        "now": now.wall,
        "first": span.first,
        "last": span.last,
        "queue": selection.queue,
        "key": selection.key,
        "error": selection.error,
        "before": None if selection.older_than is None else now.wall - selection.older_than,
        "behind": None if selection.newer_than is None else now.wall - selection.newer_than,
        "states": " ".join(state.value for state in states),
        "limit": span.limit,
    }
    query, upwards, downwards = _PAGES[table]
    rows = database.all(f"{query}{downwards if span.newest_first else upwards}", values)
    return [Placed(Place(table, row[0]), _record(table, row)) for row in rows]


def places(database: Database, id_or_prefix: str) -> list[Place]:
    """Where the job of an id or of a unique prefix stands. Raises SeveralJobs."""
    found = database.all(_WHOLE_ID, (id_or_prefix,))
    if not found and len(id_or_prefix) >= SHORTEST_PREFIX:
        found = database.all(_PREFIX, (id_or_prefix, id_or_prefix + _LAST_CHARACTER))
    if len({job_id for _, _, job_id in found}) > 1:
        raise SeveralJobs(f"{id_or_prefix} fits several jobs; give more of the id")
    return [Place(table, row) for table, row, _ in found]


def at(database: Database, place: Place, selection: Selection, now: Moment) -> list[Placed]:
    """The job at a place, where it fits the selection."""
    return page(database, selection, place.table, now, Span(place.row, place.row, 1))


def history(database: Database, job_id: str) -> tuple[Attempt, ...]:
    """The attempts of a job that did not succeed, oldest first."""
    rows = database.all(_HISTORY, (job_id,))
    return tuple(
        Attempt(*(_readable(name, value) for name, value in zip(_ATTEMPT, row, strict=True))) for row in rows
    )


def _record(table: str, row: Row) -> Record:
    fields: dict[str, Any] = {
        name: _readable(name, value) for name, value in zip(_FIELDS[table], row[1:], strict=True)
    }
    return Record(**(fields | {"state": State(fields.get("state", table))}))


def _readable(name: str, value: Any) -> Any:
    """What another program put past the schema's checks must not keep anybody from seeing the rest."""
    if name in _NUMBERS:
        return value if isinstance(value, int | float) and math.isfinite(value) else None
    if name in _COUNTS:
        return value if isinstance(value, int) else 0
    return _text(value) if isinstance(value, bytes) else value


def _text(value: bytes) -> str:
    return value.decode(errors="replace")
