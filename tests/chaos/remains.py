"""What a run under chaos left in the database, read by an SQLite that is not sqlqd's."""

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.chaos.verdict import Dead, End

_TWICE = """
SELECT id FROM jobs WHERE id IN (SELECT id FROM dead_jobs UNION ALL SELECT id FROM done_jobs)
UNION SELECT id FROM dead_jobs WHERE id IN (SELECT id FROM done_jobs)
"""

_DEAD = """
SELECT id, attempts, crashes, reason, (SELECT group_concat(number) FROM sqlqd_attempts WHERE job_id = id)
FROM dead_jobs
"""


def live(database: Path) -> int:
    """How many jobs have not ended."""
    with closing(sqlite3.connect(database, timeout=10.0)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        return int(connection.execute("SELECT count(*) FROM jobs").fetchone()[0])


def read(database: Path, processes: tuple[str, ...]) -> End:
    """All of it, once no daemon runs."""
    with closing(sqlite3.connect(database, timeout=10.0)) as connection:
        ids = "SELECT id, queue FROM dead_jobs UNION ALL SELECT id, queue FROM done_jobs"
        return End(
            done=dict(connection.execute("SELECT id, attempts FROM done_jobs WHERE outcome = 'done'")),
            dead={
                job: Dead(attempts, crashes, reason, _numbers(history))
                for job, attempts, crashes, reason, history in connection.execute(_DEAD)
            },
            kinds=dict(connection.execute(ids)),
            live=int(connection.execute("SELECT count(*) FROM jobs").fetchone()[0]),
            twice=tuple(row[0] for row in connection.execute(_TWICE)),
            integrity="\n".join(row[0] for row in connection.execute("PRAGMA integrity_check")),
            processes=processes,
        )


def _numbers(text: str | None) -> tuple[int, ...]:
    return tuple(int(number) for number in (text or "").split(",") if number)
