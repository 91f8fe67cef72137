"""A queue's whole life, each of the store's verbs in it, on a file system that a test owns.

For a process of its own: `main` writes what came out beside the folder, which must be empty at first.
"""

import pickle
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from sqlqd.model import Bury, Claim, DaemonSeen, Done, NewJob, Release, Retry, Rules, Selection
from sqlqd.store import database, wal
from sqlqd.store.base import JobRefused, StoreFailed
from sqlqd.store.errors import explain
from sqlqd.store.sqlite import SqliteStore, open_store
from tests.support.clocks import TwoHands
from tests.support.power import Change
from tests.support.sql import python
from tests.support.stores import failure, holder
from tests.support.vfs import Failing, History

Contents = dict[str, list[tuple[Any, ...]]] | None
"""Every table's rows; None: there is no queue in the file, or no file."""

MANNERS = ("log grows", "copied after each", "closed after each")

RULES = (Rules("mail", keep_done=60.0), Rules("data", json=True))
_TOKEN = re.compile(r"\b([0-9a-f]{16}/\d+/\d+)/[0-9a-f]{32}\b")


class Recorded(NamedTuple):
    """A life that was written down. A string among the events is the name of the verb that begins there,
    or, with a `+` before it, of one that has returned; `contents` holds what was there after each."""

    events: list[Change | str]
    contents: list[Contents]
    durable: frozenset[str]


class Failures(NamedTuple):
    """A life in which each verb failed: how often, what was wrong, and what there was in the end."""

    failed: dict[str, int]
    wrong: list[str]
    contents: Contents


def contents(path: Path, *, keep_log: bool = False) -> Contents:
    """What is in the file, by another connection of this process's SQLite.

    `keep_log`: where it is the only one, it leaves to the next what the last one left.
    """
    if not path.exists():
        return None
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.set_busy_timeout(1000)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(keep_log and wal.size(path) > 0))
        names = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name"
        )
        tables = [str(name) for (name,) in names.fetchall()]
        if not tables:
            return None
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables}
    finally:
        connection.close()


def without_tokens(found: Contents) -> Any:
    """The same, with what differs between two lives taken out."""
    if found is None:
        return None
    return {
        name: [tuple(_TOKEN.sub(r"\1", v) if isinstance(v, str) else v for v in row) for row in rows]
        for name, rows in found.items()
    }


class Life:
    """One store and what it holds at the moment. Each verb can be called again where it failed."""

    def __init__(self, path: Path, manner: str) -> None:
        self.path = path
        self.manner = manner
        self._clock = TwoHands()
        self._store: SqliteStore | None = None
        self._held: Claim | None = None
        self._second: Claim | None = None

    @property
    def store(self) -> SqliteStore:
        """Opened where it is not, as a daemon that starts or a command line."""
        if self._store is None:
            self._store = open_store(
                self.path, self._clock, create=True, migrate=True, autocheckpoint=self.manner != MANNERS[0]
            )
        return self._store

    def close(self) -> None:
        """As at a process's end."""
        if self._store is not None:
            store, self._store = self._store, None
            store.close()

    def afterwards(self) -> None:
        """What this manner of life does after each verb."""
        if self.manner == MANNERS[1]:
            self.store.checkpoint()
        elif self.manner == MANNERS[2]:
            self.close()

    def verbs(self) -> list[tuple[str, bool, Callable[[], object]]]:
        """Names; whether what they did is acknowledged, so that it must survive; and themselves."""
        wait = self._clock.pass_by
        return [
            ("create", True, lambda: self.store),
            ("first enqueue", True, lambda: self._enqueue("a1", key="k1")),
            ("enqueue of several", True, lambda: self._enqueue("a2", "a3", "a4", "a5", "a6")),
            ("enqueue of a known key", True, lambda: self._enqueue("a7", key="k1")),
            ("insert by another program", False, self._insert),
            ("enqueue of that one's key", True, lambda: self._enqueue("a9", key="k2")),
            ("enqueue of much", True, lambda: self._enqueue("big", payload="x" * 20_000, priority=-5)),
            ("daemon started", False, lambda: self.store.daemon_started(_DAEMON)),
            ("worker started", False, lambda: self.store.worker_started(holder(), 77)),
            ("claim", False, self._claim),
            ("renew", False, self._renew),
            ("finish and claim", False, lambda: self._settle(Done(), claims=True)),
            ("retry and claim", False, lambda: self._settle(Retry(1.9e9, "exit 1"), claims=True)),
            ("bury and claim", True, lambda: self._settle(Bury("used up"), claims=True)),
            ("release", False, lambda: self._settle(Release("held", block=5.0))),
            ("unblock", False, lambda: self.store.unblock("mail")),
            ("operator's retry of a waiting one", True, lambda: self.store.retry(Selection(ids=("a2",)))),
            ("operator's retry of a dead one", True, lambda: self.store.retry(Selection(ids=("a3",)))),
            ("enqueue of bad ones", True, lambda: self._enqueue("b1", "b2", queue="data", payload="{")),
            ("claim that buries", True, lambda: self.store.claim(holder(), RULES[1:])),
            ("purge", True, lambda: self.store.purge(Selection(ids=("b1",)))),
            ("cancel", True, lambda: self.store.cancel(Selection(ids=("a5", "a6")))),
            ("claim again", False, self._claim),
            ("request to kill it", True, self._kill),
            ("pause", True, lambda: self.store.pause(["mail"])),
            ("resume", True, lambda: self.store.resume(["mail"])),
            ("claim of a second", False, self._claim_second),
            ("time for a lease's end", False, lambda: wait(100.0)),
            ("leases run out", False, self._expire),
            ("lost one ended all the same", False, lambda: self._settle(Done())),
            ("worker dead", False, lambda: self.store.end_leases([holder().uid])),
            ("tidy", False, self._tidy),
            ("time for a record's end", False, lambda: wait(90_000.0)),
            ("tidy of counters", False, self._tidy),
            ("checkpoint", False, self._checkpoint),
            ("last enqueue", True, lambda: self._enqueue("a8")),
            ("close", False, self.close),
        ]

    def _enqueue(self, *ids: str, **facts: Any) -> None:
        jobs = [NewJob(**{"queue": "mail", "id": each, **facts}) for each in ids]
        self.store.enqueue(jobs)

    def _insert(self) -> None:
        """As applications often do, without a sync."""
        connection = apsw.Connection(str(self.path))
        try:
            connection.wal_autocheckpoint(0)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(
                "INSERT INTO jobs (id, queue, key, run_at, created_at) VALUES ('c1', 'mail', 'k2', 4e9, 1.0)"
            )
        except apsw.Error as error:
            raise explain(error, self.path) from error
        finally:
            with suppress(apsw.Error):
                connection.close()

    def _claim(self) -> None:
        claim = self.store.claim(holder(), RULES).claim
        assert claim is not None
        self._held = claim

    def _kill(self) -> None:
        assert self._held is not None
        self.store.kill(Selection(ids=(self._held.id,)))

    def _claim_second(self) -> None:
        self._second = self.store.claim(holder(2), RULES).claim
        assert self._second is not None

    def _expire(self) -> None:
        self.store.expire_leases()

    def _tidy(self) -> None:
        self.store.tidy()

    def _checkpoint(self) -> None:
        self.store.checkpoint()

    def _renew(self) -> None:
        assert self._held is not None
        self._held = self.store.renew(self._held, 40.0)

    def _settle(self, verdict: Any, *, claims: bool = False) -> None:
        assert self._held is not None
        settled = self.store.settle(
            self._held, verdict, failure(output="oh"), then=(holder(), RULES) if claims else None
        )
        assert settled.kept
        self._held = settled.next.claim
        assert (self._held is not None) == claims


_DAEMON = DaemonSeen(77, 1.0, 2.0, "1", "/etc/sqlqd.toml", 2)


def record(manner: str, folder: Path, failing_sync: int = 0) -> Recorded:
    """Live it once, and keep what happened.

    `failing_sync`: which of the log's syncs fails, whereupon its verb is tried again.
    """
    life = Life(folder / "queue.db", manner)
    history = History(folder)
    history.failing_sync = failing_sync
    moments: list[Contents] = []
    for name, _, act in life.verbs():
        history.say(name)
        _tried_twice(act, history)
        history.say(f"+{name}")
        _tried_twice(life.afterwards, history)
        # Read as others do, but not by way of a file system that writes down what this does at its close.
        moments.append(_looked_at(life.path, history))
    return Recorded(history.events, moments, frozenset(name for name, durable, _ in life.verbs() if durable))


def _tried_twice(act: Callable[[], object], history: History) -> None:
    before = history.log_syncs
    try:
        act()
    except StoreFailed:
        assert before < history.failing_sync <= history.log_syncs
        act()


def _looked_at(path: Path, history: History) -> Contents:
    before = len(history.events)
    apsw.set_default_vfs("unix")
    found = contents(path, keep_log=True)
    apsw.set_default_vfs("history")
    assert len(history.events) == before
    return found


def fail(manner: str, folder: Path, error: type[apsw.Error], *, lasting: bool) -> Failures:
    """Live it once, each verb failing at each of its changes until none is left."""
    disk = Failing()
    life = Life(folder / "queue.db", manner)
    failed: dict[str, int] = {}
    wrong: list[str] = []
    before: Contents = None
    for name, _, act in life.verbs():
        number, done = 0, False
        while not done and number < _MOST:
            number += 1
            disk.arm(number, error, lasting=lasting)
            try:
                act()
                done = True
            except StoreFailed:
                failed[name] = failed.get(name, 0) + 1
            except (apsw.Error, JobRefused, OSError) as other:
                wrong.append(f"{name}, change {number}: {type(other).__name__}: {other}")
            disk.disarm()
            now = contents(life.path)
            if not done and (now != before and name != "create"):
                wrong.append(f"{name} failed at change {number} and is there in part or whole")
        life.afterwards()
        before = contents(life.path)
    return Failures(failed, wrong, before)


_MOST = 500
"""Changes of one verb: far more than any has."""

_ERRORS: dict[str, type[apsw.Error]] = {"full": apsw.FullError, "broken": apsw.IOError}


def main(mode: str, manner: str, folder: Path, *more: str) -> None:
    """`record` the life for cuts of the power, or `fail` each verb at each change until it succeeds."""
    # Short enough to be cut by a life as short as this.
    database.LOG_LIMIT = 64 * 1024
    if mode == "record":
        found: Recorded | Failures = record(manner, folder, *map(int, more))
    else:
        found = fail(manner, folder, _ERRORS[more[0]], lasting=more[1] == "lasting")
    folder.with_suffix(".pickle").write_bytes(pickle.dumps(found))


def lived(mode: str, manner: str, folder: Path, *more: str) -> Recorded | Failures:
    """A life in a process of its own."""
    folder.mkdir()
    python(
        "import sys; from pathlib import Path; from tests.support.lives import main;"
        "main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])",
        *(mode, manner, str(folder), *more),
    )
    found: Recorded | Failures = pickle.loads(folder.with_suffix(".pickle").read_bytes())
    return found
