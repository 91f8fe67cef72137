"""One connection to the file: opening it, the only place that begins and ends transactions, and lock waits.

It must never wait for a lock longer than it was allowed, and never leave a transaction open.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import apsw

from sqlqd import faults
from sqlqd.clock import Clock, pause
from sqlqd.identity import identity
from sqlqd.store import wal
from sqlqd.store.errors import BUSY, broken_rule, explain
from sqlqd.store.failures import Interrupted, StoreError, StoreFailed, StoreMissing, StoreReplaced
from sqlqd.store.pace import FIRST, LONGEST, pace

T = TypeVar("T")
Row = tuple[Any, ...]
Value = str | int | float | bytes | None
Values = Sequence[Value] | Mapping[str, Value]

LOG_LIMIT = 4 * 1024 * 1024
"""Bytes that the write-ahead log's file may keep once its content is in the database."""

_BRIEF = 0.1

_LAST_PART = 4 * LOG_LIMIT
"""Bytes that are copied while nobody may write, at most: a tenth of a second."""

_STEPS = 100_000
"""Of SQLite's machine between two looks at the clock: about a millisecond."""

_CUTS = 50
"""Tries to cut the log: with a writer at work all the time one of them comes between two commits."""


class Moment(NamedTuple):
    """Both hands of the clock, read after the write lock was had."""

    wall: float
    awake: float


class Wait(Enum):
    """How a transaction waits for the write lock."""

    PATIENT = "as long as is allowed, whatever happens"
    STOPPABLE = "until the stop flag is raised; and with the flag raised it does not begin"
    BRIEF = "a tenth of a second"
    NEVER = "tries once"


class _MustSync(Exception):
    """The transaction found something to acknowledge: it starts again with every commit synced."""


class Database:
    """The connection. `stop` ends stoppable waits; `waiting` is called at each step of a wait."""

    def __init__(
        self,
        path: Path,
        clock: Clock,
        *,
        busy_timeout: float,
        stop: Callable[[], bool] | None,
        waiting: Callable[[], None] | None,
    ) -> None:
        self.path = path
        self.clock = clock
        self._busy_timeout = busy_timeout
        self._stop = stop or (lambda: False)
        self._waiting = waiting or (lambda: None)
        self._synced: bool | None = None
        self._log_is_in_doubt = False
        self.schema = 0
        """The version that was found or made when it was opened."""
        try:
            self.identity = identity(path)
            self._connection = apsw.Connection(os.fspath(path), flags=apsw.SQLITE_OPEN_READWRITE)
        except UnicodeEncodeError as error:
            raise StoreFailed(f"{path} is no name for SQLite: it is not UTF-8; rename it") from error
        except (apsw.Error, OSError) as error:
            raise explain(error, path) from error

    def close(self) -> None:
        """Give up the connection. A log that cannot be copied back now waits for whoever opens next."""
        with suppress(apsw.Error):
            self._connection.close()

    @property
    def stopped(self) -> bool:
        """Whether the stop flag is raised."""
        return self._stop()

    def check_file(self) -> None:
        """Raise StoreReplaced where the path leads to another file than the one that was opened, and
        StoreMissing where it leads to none: it may have been moved away for a while.
        """
        try:
            now = identity(self.path)
        except OSError as error:
            raise explain(error, self.path) from error
        if now != self.identity:
            raise StoreReplaced(
                f"{self.path} is no longer the file that was opened; start again to use the new one"
            )

    # Statements, inside a transaction. Results are always drained: an open cursor would keep its lock.

    def run(self, statement: str, values: Values = ()) -> int:
        """Execute; the number of rows that it changed."""
        self._connection.execute(statement, values)
        return self._connection.changes()

    def run_each(self, statement: str, values: Sequence[Values]) -> None:
        """Execute it for each of these."""
        self._connection.executemany(statement, values)

    def refusal(self, statement: str, values: Values) -> str | None:
        """Execute; the rule of the schema that forbids it, whereupon the transaction goes on without."""
        try:
            self._connection.execute(statement, values)
        except apsw.ConstraintError as error:
            return broken_rule(str(error))
        return None

    def one(self, statement: str, values: Values = ()) -> Row | None:
        """The first row of a query that gives at most one."""
        rows = self._connection.execute(statement, values).fetchall()
        return rows[0] if rows else None

    def all(self, statement: str, values: Values = ()) -> list[Row]:
        """Every row of a query."""
        return self._connection.execute(statement, values).fetchall()

    # Transactions.

    def write(self, body: Callable[[Moment], T], *, synced: bool, wait: Wait = Wait.PATIENT) -> T:
        """Run `body` under the write lock and commit. `synced`: on disk when this returns.

        Raises StoreBusy, Interrupted, StoreFailed, JobRefused; nothing of `body` is kept then.
        """

        def pointed(now: Moment) -> T:
            faults.point("store.begun")
            result = body(now)
            faults.point("store.before_commit")
            return result

        try:
            try:
                result = self._transact("BEGIN IMMEDIATE", pointed, wait, synced=synced)
            except _MustSync:
                result = self._transact("BEGIN IMMEDIATE", pointed, wait, synced=True)
            faults.point("store.after_commit")
        except (apsw.Error, OSError) as error:
            raise self._failed(error) from error
        return result

    def insist_on_sync(self) -> None:
        """From inside a transaction: what it does must be on disk when it is reported."""
        if not self._synced:
            raise _MustSync

    def read(self, body: Callable[[Moment], T]) -> T:
        """Run `body` on one unchanging view of the data."""
        try:
            return self._retry(lambda: self._transact("BEGIN", body, Wait.NEVER), Wait.PATIENT)
        except (apsw.Error, OSError) as error:
            raise explain(error, self.path) from error

    def outside(self, body: Callable[[], T]) -> T:
        """Run `body`, which begins no transaction, with the same waits and errors."""
        try:
            return self._retry(body, Wait.PATIENT)
        except (apsw.Error, OSError) as error:
            raise self._failed(error) from error

    def _transact(
        self, begin: str, body: Callable[[Moment], T], wait: Wait, *, synced: bool | None = None
    ) -> T:
        if synced is not None and synced != self._synced:
            # The level cannot change inside a transaction.
            self.all(f"PRAGMA synchronous = {'FULL' if synced else 'NORMAL'}")
            self._synced = synced
        self._retry(lambda: self._connection.execute(begin), wait)
        try:
            if wait is Wait.STOPPABLE:
                self._heed_stop()
            if synced is not None and self._log_is_in_doubt:
                self._mend_log()
            result = body(Moment(self.clock.wall(), self.clock.awake()))
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        return result

    def _retry(self, attempt: Callable[[], T], wait: Wait) -> T:
        """SQLite's own handler cannot be interrupted, and lets some wait for seconds while others run on."""
        waited, limit, steps = 0.0, self._limit(wait), pace(_at_random)
        while True:
            if wait is Wait.STOPPABLE:
                self._heed_stop()
            try:
                return attempt()
            except BUSY:
                if waited >= limit:
                    raise
            self._waiting()
            step = next(steps)
            pause(step)
            waited += step

    def give_way(self) -> None:
        """Leave the lock alone for so long that each of ours who waits for it has looked again."""
        pause(LONGEST + FIRST[1])

    def _limit(self, wait: Wait) -> float:
        match wait:
            case Wait.NEVER:
                return 0.0
            case Wait.BRIEF:
                return min(_BRIEF, self._busy_timeout)
            case _:
                return self._busy_timeout

    def _heed_stop(self) -> None:
        if self.stopped:
            raise Interrupted("stopping: no new claim is begun")

    # After a failure of the disk.

    def doubt_log(self) -> None:
        """A sync of the log may have failed: it is written again, before anything else is in any case.

        At once where that can be, since a program that opens the file from now on would learn of nothing.
        """
        self._log_is_in_doubt = True
        with suppress(apsw.Error, OSError):
            self._transact("BEGIN IMMEDIATE", lambda _: None, Wait.BRIEF, synced=True)

    def _failed(self, error: Exception) -> StoreError:
        if isinstance(error, apsw.IOError):
            self.doubt_log()
        return explain(error, self.path)

    def _mend_log(self) -> None:
        with suppress(StoreReplaced, StoreMissing):
            self.check_file()
            wal.write_again(self.path, self._waiting)
        self._log_is_in_doubt = False

    # The file as a whole.

    def settings(self, *, autocheckpoint: bool) -> None:
        """What every connection is set to, before its first transaction."""
        # Or SQLite compiles whatever looks for a range anew for each value, to see which plan fits that best.
        self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        self.outside(lambda: self.all(f"PRAGMA journal_size_limit = {LOG_LIMIT}"))
        if not autocheckpoint:
            self.outside(lambda: self._connection.wal_autocheckpoint(0))

    def use_write_ahead_log(self) -> None:
        """Switch the journal, unless that is done: others may be doing it at this moment."""

        def switch() -> str:
            if not self.all("PRAGMA page_count")[0][0]:
                # Only now: so that pages that are free can be given back to the file system later.
                self.all("PRAGMA auto_vacuum = INCREMENTAL")
            mode = self.all("PRAGMA journal_mode")[0][0]
            return str(mode if mode == "wal" else self.all("PRAGMA journal_mode = WAL")[0][0])

        if self.outside(switch) != "wal":
            raise StoreFailed(f"{self.path} cannot keep a write-ahead log; put it on a local file system")

    def script(self, statements: str) -> None:
        """Execute a file of statements to its end."""
        self._connection.execute(statements).fetchall()

    def copy_into(self, copy: apsw.Connection, *, pages: int) -> None:
        """Copy the whole file as it is at one moment into another, so many pages at a time.

        Of one unchanging view, or each commit meanwhile would have it begin anew. The log cannot begin anew
        until it is over. Raises apsw.Error: which of the two files it is about, only its kind tells.
        """

        def body(_: Moment) -> None:
            # A view begins with the first look.
            self.all("PRAGMA schema_version")
            with copy.backup("main", self._connection, "main") as backup:
                while not backup.done:
                    self._waiting()
                    backup.step(pages)

        self._retry(lambda: self._transact("BEGIN", body, Wait.NEVER), Wait.PATIENT)

    def search(self, statement: str, seconds: float) -> list[Row] | None:
        """Every row of a query that may take long; None: it took longer than that, and was broken off."""
        end = self.clock.awake() + seconds
        self._connection.set_progress_handler(lambda: self.clock.awake() >= end, _STEPS)
        try:
            return self._retry(lambda: self.all(statement), Wait.PATIENT)
        except apsw.InterruptError:
            return None
        except (apsw.Error, OSError) as error:
            raise explain(error, self.path) from error
        finally:
            self._connection.set_progress_handler(None)

    def checkpoint(self) -> int:
        """Copy the log into the file, waiting for nobody, and cut one that grew long. Bytes left to do.

        Under a steady flow of commits there is never a moment at which all is copied, and the log begins
        anew only then: the last part of a long one is copied while nobody may write.
        """

        def copy() -> int:
            logged, copied = self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            return max(0, logged - copied) * int(self.all("PRAGMA page_size")[0][0])

        left = self.outside(copy)
        size = wal.size(self.path)
        if size <= LOG_LIMIT:
            return left
        return 0 if left <= _LAST_PART and self._cut_log() else size

    def _cut_log(self) -> bool:
        """With no busy handler set each try gives up at once where anyone reads or writes."""
        for _ in range(_CUTS):
            try:
                self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except BUSY:
                pause(_at_random(*FIRST))
            except (apsw.Error, OSError) as error:
                raise self._failed(error) from error
            else:
                return True
        return False


def make_file(path: Path) -> None:
    """Make an empty file that group members may use, with its name on disk, unless there is one."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o660)
    except FileExistsError:
        return
    except FileNotFoundError as error:
        raise StoreMissing(f"the directory {path.parent} does not exist; make it first") from error
    except OSError as error:
        raise explain(error, path) from error
    try:
        # Whatever the umask of whoever came first: SQLite copies these bits to the files beside it.
        os.fchmod(descriptor, 0o660)
        sync_directory(path.parent)
    except OSError as error:
        raise explain(error, path) from error
    finally:
        os.close(descriptor)


def sync_directory(directory: Path) -> None:
    """Have the names in it on disk. SQLite does so for its log, not for a new database."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _at_random(low: float, high: float) -> float:
    """Coarse, and from the system: `random` may be seeded by a program that uses the queue."""
    return low + (high - low) * os.urandom(1)[0] / 255
