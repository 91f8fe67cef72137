"""Pauses: queues that give out no jobs until somebody, or the time, ends that. They outlive the daemon."""

from collections.abc import Collection

from sqlqd.model import Pause
from sqlqd.store import statements as sql
from sqlqd.store.database import Database, Values

EVERYTHING = ""
"""Stands for all queues, also those that are yet to come: no queue has that name."""

_PUT = """
INSERT INTO sqlqd_queues (queue, paused_at, paused_until) VALUES (?1, ?2, ?3)
ON CONFLICT (queue) DO UPDATE SET paused_until = ?3, paused_at = CASE
    WHEN paused_at IS NULL OR coalesce(paused_until <= ?2, 0) THEN ?2 ELSE paused_at END
"""


def in_force(database: Database, now: float) -> tuple[Pause, ...]:
    """Those that hold now; that of all queues first."""
    rows = database.all(sql.PAUSES, (now,))
    return tuple(Pause(queue.decode(errors="replace"), since, until) for queue, since, until in rows)


def begin(database: Database, queues: Collection[str], until: float | None, now: float) -> None:
    """Pause them until a moment, or for ever. One that is paused already stays so from when it was."""
    for queue in queues:
        database.run(_PUT, (queue, now, until))


def end(database: Database, queues: Collection[str]) -> None:
    """End the pauses of these queues."""
    for queue in queues:
        for statement, values in ending(queue):
            database.run(statement, values)


def ending(queue: str | bytes) -> tuple[tuple[str, Values], ...]:
    """What ends the pause of one queue."""
    return (sql.END_PAUSE, (queue,)), (sql.FORGET_QUEUE, (queue,))
