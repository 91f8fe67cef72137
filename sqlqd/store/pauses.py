"""Pauses: queues that give out no jobs until somebody, or the time, ends that. They outlive the daemon."""

from collections.abc import Collection

from sqlqd.model import Pause
from sqlqd.store import statements as sql
from sqlqd.store.database import Database

EVERYTHING = ""
"""Stands for all queues, also those that are yet to come: no queue has that name."""

_PUT = """
INSERT INTO sqlqd_queues (queue, paused_at, paused_until) VALUES (?1, ?2, ?3)
ON CONFLICT (queue) DO UPDATE SET paused_until = ?3, paused_at = CASE
    WHEN paused_at IS NULL OR coalesce(paused_until <= ?2, 0) THEN ?2 ELSE paused_at END
"""

_TAKE = (
    "UPDATE sqlqd_queues SET paused_at = NULL, paused_until = NULL WHERE queue = ? AND paused_at IS NOT NULL"
)


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
        database.run(_TAKE, (queue,))
        database.run(sql.FORGET_QUEUE, (queue,))


def sweep(database: Database, now: float) -> None:
    """Forget the pauses whose time is over."""
    over = [queue.decode(errors="replace") for (queue,) in database.all(sql.OVER_PAUSES, (now,))]
    end(database, over)
