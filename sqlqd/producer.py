"""Adding a job inside the transaction of an application's own sqlite3 connection.

It must never load a second SQLite into the application's process: two of them on one file lose data.
"""

import os
from typing import TYPE_CHECKING

from sqlqd.clock import SystemClock
from sqlqd.newjob import no_text
from sqlqd.store.failures import JobRefused, StoreForeign, StoreMissing

if TYPE_CHECKING:
    import sqlite3

NEWEST_SCHEMA = 6
"""The newest schema that this module knows how to insert into."""

_VERSION = "SELECT max(version) FROM sqlqd_schema"

_INSERT = """
INSERT INTO jobs (id, queue, payload, priority, run_at, key, max_attempts) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
"""

# As bytes, which no text_factory touches.
_LIVE_BY_KEY = "SELECT CAST(id AS BLOB) FROM jobs WHERE queue = ? AND key = ?"

_TRIES = 10


def enqueue(
    connection: "sqlite3.Connection",
    queue: str,
    payload: str = "",
    *,
    delay: float = 0.0,
    run_at: float | None = None,
    priority: int = 0,
    key: str | None = None,
    max_attempts: int | None = None,
) -> str:
    """Add a job in the transaction of the caller's own `sqlite3` connection; the caller commits.

    The id of the job, or of the live one that has the same key. `delay` is in seconds, `run_at` in Unix
    seconds. Raises StoreMissing where the file has no queue, JobRefused where the job breaks a rule;
    what else SQLite says comes as the connection's own errors. The transaction is never ended here.
    """
    if (why := no_text(payload)) is not None:
        raise JobRefused(why)
    cursor = connection.cursor()
    # Whatever the application makes of its rows, ours are plain.
    cursor.row_factory = None
    _check_schema(connection, cursor)
    due = SystemClock().wall() + delay if run_at is None else run_at
    job_id = os.urandom(16).hex()
    values = (job_id, queue, payload, priority, due, key, max_attempts)
    try:
        # Without a transaction the job that has the key may go between two statements.
        for _ in range(_TRIES):
            if cursor.execute(_INSERT, values).rowcount > 0:
                return job_id
            for (found,) in cursor.execute(_LIVE_BY_KEY, (queue, key)).fetchall():
                return str(found, encoding="utf-8", errors="replace")
    except (connection.IntegrityError, connection.DataError, connection.InterfaceError) as error:
        raise JobRefused(f"the job was refused: {error}") from error
    raise JobRefused(f"jobs with the key {key!r} came and went; try again in a transaction")


def _check_schema(connection: "sqlite3.Connection", cursor: "sqlite3.Cursor") -> None:
    try:
        ((version,),) = cursor.execute(_VERSION).fetchall()
    except connection.OperationalError as error:
        if "no such table" not in str(error):
            raise
        raise StoreMissing(
            "this database holds no queue; run the output of `sqlqd schema` in it, "
            "or open it once with sqlqd.connect before anything else does"
        ) from error
    if version > NEWEST_SCHEMA:
        raise StoreForeign(
            f"this database has schema {version}, newer than this sqlqd's {NEWEST_SCHEMA}; upgrade sqlqd"
        )
