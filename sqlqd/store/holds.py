"""Holds: queues that give out no jobs for a while, since their command could not be started."""

from collections.abc import Collection

from sqlqd.store import statements as sql
from sqlqd.store.database import Database, Moment, Wait


def end(database: Database, queues: Collection[str], wait: Wait) -> bool:
    """End the holds of these queues. False: none of them is held, and the lock was not asked for."""

    def body(_: Moment) -> None:
        for queue in queues:
            database.run(sql.UNBLOCK, (queue,))
            database.run(sql.FORGET_QUEUE, (queue,))

    held = database.read(lambda _: any(database.one(sql.IS_BLOCKED, (queue,)) for queue in queues))
    if held:
        database.write(body, synced=False, wait=wait)
    return held
