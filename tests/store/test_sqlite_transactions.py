"""The one place that begins and ends transactions: what is synced, how locks are waited for."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from sqlqd.model import Bury, DaemonSeen, Done, NewJob, Release, Retry, Rules, Selection, State
from sqlqd.store.base import Interrupted, Store, StoreBusy
from sqlqd.store.sqlite import open_store
from tests.support.clocks import TwoHands
from tests.support.sql import rows
from tests.support.stores import add, claimed, failure, holder

_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""

SERVED = [Rules("mail")]
BASE = "unix"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "queue.db"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[Callable[[], None]]:
    """Another program holds the write lock until it is told to let go."""
    with subprocess.Popen(
        [sys.executable, "-c", _LOCK, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holding:
        assert holding.stdin is not None
        assert holding.stdout is not None
        assert holding.stdout.readline() == b"locked\n"
        try:
            yield holding.stdin.close
        finally:
            holding.stdin.close()


def verbs(store: Store) -> dict[str, Callable[[], object]]:
    """Every verb that writes, ready to be called."""
    store.enqueue([NewJob("mail", str(number)) for number in range(12)])
    ends = [claimed(store) for _ in range(4)]
    return {
        "enqueue": lambda: store.enqueue([NewJob("mail")]),
        "claim": lambda: store.claim(holder(), SERVED),
        "done": lambda: store.settle(ends[0], Done()),
        "retry": lambda: store.settle(ends[1], Retry(9e10, "no"), failure()),
        "bury": lambda: store.settle(ends[2], Bury("no"), failure()),
        "release": lambda: store.settle(ends[3], Release("stop"), then=(holder(), SERVED)),
        "worker_started": lambda: store.worker_started(holder(), 7),
        "end_leases": lambda: store.end_leases([holder().uid]),
        "worker_stopped": lambda: store.worker_stopped(holder().uid),
        "purge": lambda: store.purge(Selection(queue="mail")),
        "operator's retry": lambda: store.retry(Selection(queue="mail")),
        "cancel": lambda: store.cancel(Selection(queue="mail")),
    }


def test_a_lock_that_stays_is_busy_for_every_verb_and_changes_nothing(path: Path) -> None:
    store = open_store(path, TwoHands(), create=True, busy_timeout=0.05)
    calls = verbs(store)
    before = list(store.find(Selection()))
    with locked(path):
        for name, call in calls.items():
            with pytest.raises(StoreBusy, match="locked by others"):
                call()
            assert list(store.find(Selection())) == before, name
    for call in calls.values():
        call()
    store.close()


PATIENT_CALLS: dict[str, Callable[[Store], object]] = {
    "enqueue": add,
    "unblock_all": lambda store: store.unblock_all(["other", "mail"]),
}


@pytest.mark.parametrize("call", PATIENT_CALLS.values(), ids=PATIENT_CALLS)
def test_a_lock_that_goes_is_waited_for(path: Path, call: Callable[[Store], object]) -> None:
    waits = 0

    def waiting() -> None:
        nonlocal waits
        waits += 1
        if waits == 20:
            let_go()

    store = open_store(path, TwoHands(), create=True, busy_timeout=20.0, waiting=waiting)
    add(store)
    store.settle(claimed(store), Release("cannot start", block=300.0))
    with locked(path) as let_go:
        call(store)
    assert waits >= 20
    blocked = store.overview([]).queues[0].blocked_until
    assert (blocked is None) == (call is not add)
    store.close()


def test_reading_needs_no_lock(path: Path) -> None:
    store = open_store(path, TwoHands(), create=True, busy_timeout=0.0)
    job_id = add(store)
    with locked(path):
        assert store.outlook(SERVED, limit=1).due == 1
        assert len(store.expire_leases()) == 0
        assert not store.tidy()
        store.unblock("mail")
        store.forget_daemons([])
        assert store.record(job_id) is not None
        assert store.overview([]).queues[0].ready == 1
    store.close()


def test_leaving_hardly_waits(path: Path) -> None:
    patience = 20.0
    store = open_store(path, TwoHands(), create=True, busy_timeout=patience)
    began = time.monotonic()
    with locked(path), pytest.raises(StoreBusy):
        store.worker_stopped(holder().uid)
    assert time.monotonic() - began < patience / 10.0
    store.daemon_started(DaemonSeen(pid=77, started_at=1.0, loaded_at=1.0, version="1", config="", workers=1))
    began = time.monotonic()
    with locked(path), pytest.raises(StoreBusy):
        store.forget_daemons([])
    assert time.monotonic() - began < patience / 10.0
    store.close()


def test_renewing_tries_once(path: Path) -> None:
    waits: list[int] = []
    store = open_store(path, TwoHands(), create=True, busy_timeout=20.0, waiting=lambda: waits.append(1))
    add(store)
    held = claimed(store)
    with locked(path), pytest.raises(StoreBusy):
        store.renew(held, 30.0)
    assert waits == []
    assert store.renew(held, 30.0) is not None
    store.close()


def test_the_stop_flag_ends_a_claims_wait_and_nothing_elses(path: Path) -> None:
    waits = 0

    def waiting() -> None:
        nonlocal waits
        waits += 1

    store = open_store(
        path, TwoHands(), create=True, busy_timeout=0.2, stop=lambda: waits >= 5, waiting=waiting
    )
    add(store)
    held = claimed(store)
    with locked(path):
        with pytest.raises(Interrupted):
            store.claim(holder(), SERVED)
        assert waits == 5
        with pytest.raises(StoreBusy) as caught:
            store.settle(held, Done())
        assert not isinstance(caught.value, Interrupted)
        assert waits > 20
    assert store.settle(held, Done()).kept
    store.close()


def test_a_wait_takes_as_long_as_it_may(path: Path) -> None:
    def waited(patience: float) -> float:
        store = open_store(path, TwoHands(), create=True, busy_timeout=patience)
        with locked(path):
            start = time.monotonic()
            with pytest.raises(StoreBusy):
                add(store)
            took = time.monotonic() - start
        store.close()
        return took

    short, long = waited(0.1), waited(1.0)
    assert 0.1 <= short < long
    assert long >= 1.0


def test_the_lease_counts_from_when_the_lock_was_had(path: Path) -> None:
    clock = TwoHands()
    waits = 0

    def waiting() -> None:
        nonlocal waits
        waits += 1
        clock.pass_by(1.0)
        if waits == 4:
            let_go()

    store = open_store(path, clock, create=True, busy_timeout=20.0, waiting=waiting)
    add(store)
    with locked(path) as let_go:
        held = claimed(store)
    assert held.claimed_at == clock.wall()
    assert held.until_awake == clock.awake() + 30.0
    store.close()


class Watched(apsw.VFS):
    """The system's files, counting how often SQLite has them synced."""

    def __init__(self) -> None:
        self.syncs = 0
        super().__init__("watched", BASE)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's
        return WatchedFile(self, name, flags)


class WatchedFile(apsw.VFSFile):
    """One of them."""

    def __init__(self, watched: Watched, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._watched = watched
        super().__init__(BASE, name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's
        self._watched.syncs += 1
        super().xSync(flags)


@pytest.fixture
def watched() -> Iterator[Watched]:
    vfs = Watched()
    apsw.set_default_vfs("watched")
    yield vfs
    apsw.set_default_vfs(BASE)
    vfs.unregister()


def test_what_is_acknowledged_is_synced_and_the_rest_is_not(path: Path, watched: Watched) -> None:
    store = open_store(path, TwoHands(), create=True, autocheckpoint=False)
    calls = verbs(store)
    # The first commit after a checkpoint syncs the log's header, whatever the level.
    store.end_leases(["nobody"])
    syncs = {}
    for name, call in calls.items():
        before = watched.syncs
        call()
        syncs[name] = watched.syncs - before
    synced = {"enqueue", "bury", "cancel", "operator's retry", "purge"}
    assert {name for name, number in syncs.items() if number} == synced
    store.close()


def test_a_claim_that_buries_is_synced(path: Path, watched: Watched) -> None:
    store = open_store(path, TwoHands(), create=True, autocheckpoint=False)
    store.enqueue([NewJob("mail", "nope"), NewJob("mail", "1"), NewJob("mail", "nope"), NewJob("mail", "2")])
    rules = [Rules("mail", json=True)]
    before = watched.syncs
    taken = store.claim(holder(), rules)
    assert taken.claim is not None
    assert len(taken.buried) == 1
    assert watched.syncs > before
    before = watched.syncs
    settled = store.settle(taken.claim, Done(), then=(holder(), rules))
    assert settled.next.claim is not None
    assert len(settled.next.buried) == 1
    assert watched.syncs > before
    assert settled.next.claim.job.attempts == 1
    before = watched.syncs
    store.settle(settled.next.claim, Done())
    assert watched.syncs == before
    store.close()


_FAULT = """
import sys
from pathlib import Path
from sqlqd.clock import SystemClock
from sqlqd.model import NewJob
from sqlqd.store.base import StoreFailed
from sqlqd.store.sqlite import open_store
store = open_store(Path(sys.argv[1]), SystemClock())
try:
    store.enqueue([NewJob("mail", "first")])
except StoreFailed as error:
    print("failed:", error)
store.enqueue([NewJob("mail", "second")])
print("went on")
"""


@pytest.mark.parametrize(
    ("point", "kept"),
    [
        ("store.begun", ["second"]),
        ("store.before_commit", ["second"]),
        ("store.after_commit", ["first", "second"]),
    ],
)
def test_an_error_at_any_point_leaves_a_store_that_works(path: Path, point: str, kept: list[str]) -> None:
    open_store(path, TwoHands(), create=True).close()
    ran = subprocess.run(
        [sys.executable, "-c", _FAULT, str(path)],
        env={**os.environ, "SQLQD_FAULT": f"{point}=error@1", "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert "planted fault" in ran.stdout
    assert ran.stdout.endswith("went on\n")
    assert [payload for (payload,) in rows(path, "SELECT payload FROM jobs ORDER BY rowid")] == kept


@pytest.mark.parametrize(
    ("point", "kept"), [("store.begun", 0), ("store.before_commit", 0), ("store.after_commit", 1)]
)
def test_death_at_any_point_leaves_all_or_nothing(path: Path, point: str, kept: int) -> None:
    open_store(path, TwoHands(), create=True).close()
    ran = subprocess.run(
        [sys.executable, "-c", _FAULT, str(path)],
        env={**os.environ, "SQLQD_FAULT": f"{point}=kill@1", "PYTHONPATH": "."},
        timeout=30,
        check=False,
    )
    assert ran.returncode == -9
    assert rows(path, "SELECT count(*) FROM jobs") == [[kept]]
    assert rows(path, "PRAGMA integrity_check") == [["ok"]]


def test_the_store_closes_after_a_failure(path: Path) -> None:
    store = open_store(path, TwoHands(), create=True)
    with pytest.raises(ZeroDivisionError):
        store.enqueue(NewJob("mail", delay=1 / number) for number in (1, 0))  # type: ignore[arg-type] # broken on purpose
    assert store.outlook(SERVED, limit=9).due == 0
    add(store)
    store.close()


@pytest.mark.parametrize("state", [State.READY, State.SCHEDULED])
def test_a_full_disk_is_said_and_changes_nothing(path: Path, state: State) -> None:
    store = open_store(path, TwoHands(), create=True)
    job_id = add(store, delay=60.0 if state is State.SCHEDULED else 0.0)
    limit = apsw.Connection(str(path))
    store.close()
    limit.close()
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            "import resource, signal, sys\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
            + _FAULT.replace('"first"', '"x" * 500_000'),
            str(path),
        ],
        env={**os.environ, "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert ran.stdout.startswith("failed:")
    assert ran.stdout.endswith("went on\n")
    assert [one for (one,) in rows(path, "SELECT id FROM jobs WHERE payload = ''")] == [job_id]
