"""What may be wrong with the file and what is in it: what `doctor` asks; and the totals of `metrics`."""

from sqlqd.condition import Condition, Distant, Total
from sqlqd.store import leases
from sqlqd.store.database import Database, Moment
from sqlqd.store.schema import NEWEST

_TOTALS = "SELECT CAST(queue AS BLOB), outcome, sum(n) FROM sqlqd_counters GROUP BY queue, outcome"

_ADDED = """
SELECT max(iif(typeof(created_at) = 'real', created_at, NULL))
FROM (SELECT created_at FROM jobs ORDER BY rowid DESC LIMIT 1000)
"""

_WRITTEN = """
SELECT max(at) FROM (
    SELECT * FROM (SELECT ended_at AS at FROM done_jobs ORDER BY number DESC LIMIT 1)
    UNION ALL SELECT * FROM (SELECT ended_at FROM sqlqd_attempts ORDER BY entry DESC LIMIT 1)
    UNION ALL SELECT * FROM (SELECT died_at FROM dead_jobs ORDER BY rowid DESC LIMIT 1)
    UNION ALL SELECT started_at FROM sqlqd_daemons
) WHERE typeof(at) = 'real'
"""

# With max() the row's other columns are those of the greatest.
_DISTANT = """
SELECT count(*), max(run_at), rowid FROM jobs INDEXED BY jobs_waiting
WHERE locked_by IS NULL AND typeof(run_at) = 'real' AND run_at > ?
"""

_ID = "SELECT CAST(id AS BLOB) FROM jobs WHERE rowid = ?"

_QUICK, _FULL = "PRAGMA quick_check(10)", "PRAGMA integrity_check(10)"

_FAR = 366 * 86_400.0
"""Seconds from now that hardly anybody means to have a job wait."""

_GRACE = 60.0
"""Seconds for which a lease may be over: whoever ends it looks for what still runs, and kills that first."""


def totals(database: Database) -> tuple[Total, ...]:
    """How many attempts ended how, since the queue began. The table is kept short."""
    rows = database.read(lambda _: database.all(_TOTALS))
    return tuple(Total(queue.decode(errors="replace"), outcome, count) for queue, outcome, count in rows)


def look(database: Database) -> Condition:
    """What a quick look tells, on one view of the data."""
    return database.read(lambda now: _look(database, now))


def _look(database: Database, now: Moment) -> Condition:
    earlier = Moment(now.wall - _GRACE, now.awake - _GRACE)
    return Condition(
        now.wall,
        database.schema,
        NEWEST,
        added_at=_number(database, _ADDED),
        written_at=_number(database, _WRITTEN),
        distant=_distant(database, now.wall + _FAR),
        overdue=len(leases.overdue(database, earlier)),
    )


def _number(database: Database, statement: str) -> float | None:
    row = database.one(statement)
    return None if row is None or row[0] is None else float(row[0])


def _distant(database: Database, after: float) -> Distant | None:
    count, run_at, rowid = database.one(_DISTANT, (after,)) or (0, None, None)
    if not count:
        return None
    (name,) = database.one(_ID, (rowid,)) or (b"",)
    return Distant(count, name.decode(errors="replace"), run_at)


def damages(database: Database, *, full: bool, seconds: float) -> tuple[str, ...] | None:
    """What is wrong with the file's structure; None: it took too long to look."""
    rows = database.search(_FULL if full else _QUICK, seconds)
    if rows is None:
        return None
    return tuple(text for (text,) in rows if text != "ok")
