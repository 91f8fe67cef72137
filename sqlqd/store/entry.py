"""The way in for jobs: opening the file, and adding to it. Who only adds loads nothing else of the store."""

from collections.abc import Callable, Sequence
from pathlib import Path

from sqlqd.clock import Clock
from sqlqd.newjob import Enqueued, NewJob
from sqlqd.store import wal
from sqlqd.store.adding import add
from sqlqd.store.database import Database, make_file
from sqlqd.store.failures import JobRefused
from sqlqd.store.schema import prepare

_TURN = 0.02
"""Seconds for which whoever adds without a pause may have the lock most of the time."""


def opened(
    path: Path,
    clock: Clock,
    *,
    busy_timeout: float,
    create: bool,
    migrate: bool = False,
    stop: Callable[[], bool] | None = None,
    waiting: Callable[[], None] | None = None,
    autocheckpoint: bool = True,
) -> Database:
    """The file at `path`, ready to be used; as `open_store` says."""
    if create:
        make_file(path)
    database = Database(path, clock, busy_timeout=busy_timeout, stop=stop, waiting=waiting)
    try:
        database.settings(autocheckpoint=autocheckpoint)
        if migrate and wal.size(path):
            # Whoever closed the file last told nobody of a sync that failed then.
            database.doubt_log()
        prepare(database, create=create, migrate=migrate)
    except BaseException:
        database.close()
        raise
    return database


def enqueue(database: Database, jobs: Sequence[NewJob]) -> list[Enqueued]:
    """Add all or none; on disk when it returns. One answer a job, in order."""
    try:
        return database.write(lambda now: add(database, jobs, now.wall), synced=True)
    except (TypeError, ValueError, OverflowError) as error:
        raise JobRefused(f"a job holds a value that cannot be stored: {error}") from error


class Entry:
    """An open file, for adding alone."""

    def __init__(self, path: Path, clock: Clock, *, busy_timeout: float) -> None:
        """Makes the file where there is none. Raises as `open_store` does."""
        self._database = opened(path, clock, busy_timeout=busy_timeout, create=True)
        self._clock = clock
        self._gave_way = clock.awake()

    def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Add all or none; on disk when it returns. One answer a job, in order."""
        return enqueue(self._database, jobs)

    def give_way(self) -> None:
        """Between two transactions of many: now and then others get the lock, however it goes by chance."""
        if self._clock.awake() - self._gave_way > _TURN:
            self._database.give_way()
            self._gave_way = self._clock.awake()

    def close(self) -> None:
        """Give up the connection. The object is useless afterwards."""
        self._database.close()
