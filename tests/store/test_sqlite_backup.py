"""A backup is the queue as it was at one moment, whatever goes on meanwhile; or it is not there at all."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from sqlqd.model import Bury, DaemonSeen, Retry, Selection, State
from sqlqd.store import backup as copying
from sqlqd.store.base import Store, StoreError, StoreMissing
from sqlqd.store.sqlite import open_store
from tests.support.clocks import TwoHands
from tests.support.sql import python
from tests.support.stores import add, claim, claimed, holder, seen


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Where copies go."""
    (tmp_path / "copies").mkdir()
    return tmp_path / "copies" / "copy.db"


def reopened(path: Path, clock: TwoHands) -> Store:
    assert sorted(path.parent.iterdir()) == [path]
    return open_store(path, clock)


def test_all_is_in_it(store: Store, copy: Path, clock: TwoHands) -> None:
    dead, late, ready = add(store, payload="d"), add(store, payload="b"), add(store, payload="x" * 9000)
    store.settle(claimed(store), Bury("no"))
    store.settle(claimed(store), Retry(clock.wall() + 60, "later"))
    store.pause(["mail"])
    size = store.backup(copy)
    assert size == copy.stat().st_size
    other = reopened(copy, clock)
    assert [seen(other, one) for one in (dead, late, ready)] == [
        seen(store, one) for one in (dead, late, ready)
    ]
    assert other.pauses() == store.pauses()
    assert other.damages(full=True, seconds=60.0) == ()
    other.close()


def test_commits_meanwhile_neither_enter_it_nor_make_it_begin_anew(
    store: Store, copy: Path, tmp_path: Path, clock: TwoHands, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        add(store, payload=f"{number}" * 9_000)
    before = [job.payload for job in store.find(Selection())]
    monkeypatch.setattr(copying, "_PAGES", 4)
    added: list[str] = []
    source = open_store(tmp_path / "queue.db", clock, waiting=lambda: added.append(add(store, payload="new")))
    source.backup(copy)
    assert 10 < len(added) < 40
    other = reopened(copy, clock)
    assert [job.payload for job in other.find(Selection())] == before
    for one in (source, other):
        one.close()


def test_who_runs_a_job_does_not_in_the_copy(store: Store, copy: Path, clock: TwoHands) -> None:
    job = add(store)
    store.daemon_started(DaemonSeen(77, clock.wall(), clock.wall(), "1", "/etc/sqlqd.toml", 2))
    store.worker_started(holder(), 77)
    held = claimed(store)
    store.backup(copy)
    assert seen(store, job).state is State.RUNNING
    assert store.renew(held, 30.0)
    other = reopened(copy, clock)
    overview = other.overview(())
    assert (overview.workers, overview.daemons) == ((), ())
    (over,) = other.overdue()
    # By the worker's mark whatever still runs for it on this machine is found.
    assert (over.job_id, over.uid) == (job, holder().uid)
    (lost,) = other.expire_leases()
    assert lost.id == job
    again = claim(other, who=holder(2))
    assert again is not None
    # A copy is nobody's crash; the attempt was made.
    assert (again.job.id, again.job.attempts, again.job.crashes) == (job, 2, 0)
    other.close()


def test_it_is_as_open_to_others_as_the_database(store: Store, copy: Path) -> None:
    umask = os.umask(0o077)
    try:
        store.backup(copy)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o660
    copy.parent.parent.joinpath("queue.db").chmod(0o644)
    store.backup(copy, replace=True)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o640


def test_what_is_there_stays_unless_it_is_to_be_replaced(store: Store, copy: Path, tmp_path: Path) -> None:
    copy.write_text("precious")
    with pytest.raises(StoreError, match="already there and was not touched; --force"):
        store.backup(copy)
    assert copy.read_text() == "precious"
    store.backup(copy, replace=True)
    assert copy.read_bytes().startswith(b"SQLite format 3")
    # Not what is in use, by any name.
    link = copy.with_name("link.db")
    link.hardlink_to(tmp_path / "queue.db")
    for itself in (tmp_path / "queue.db", link):
        with pytest.raises(StoreError, match="is the database itself"):
            store.backup(itself, replace=True)
    used = open_store(copy.with_name("used.db"), TwoHands(), create=True)
    with pytest.raises(StoreError, match="in use"):
        store.backup(copy.with_name("used.db"), replace=True)
    used.close()
    with pytest.raises(StoreError, match="is a directory"):
        store.backup(copy.parent, replace=True)
    with pytest.raises(StoreMissing, match="make it first"):
        store.backup(tmp_path / "none" / "copy.db")
    assert sorted(path.name for path in copy.parent.iterdir()) == ["copy.db", "link.db", "used.db"]


@pytest.mark.parametrize("point", ["_fill", "_finish", "_publish"])
def test_one_that_is_given_up_leaves_nothing(
    store: Store, copy: Path, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy.write_text("precious")

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(copying, point, interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.backup(copy, replace=True)
    assert [path.name for path in copy.parent.iterdir()] == ["copy.db"]
    assert copy.read_text() == "precious"


def test_find_is_not_disturbed(store: Store, copy: Path) -> None:
    add(store)
    rows = store.find(Selection())
    store.backup(copy)
    assert len(list(rows)) == 1


def test_one_that_finds_no_room_fails_and_leaves_nothing(store: Store, copy: Path, tmp_path: Path) -> None:
    for _ in range(20):
        add(store, payload="x" * 20_000)
    said = python(
        "import resource, sys; from sqlqd.cli import execute;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000));"
        "sys.exit(0 if execute(['-c', sys.argv[1], 'backup', sys.argv[2]]) == 74 else 1)",
        str(_config(tmp_path)),
        str(copy),
    )
    assert said.stderr == f"sqlqd: {copy} could not be written; see `df {copy.parent}` and `dmesg`\n"
    assert list(copy.parent.iterdir()) == []


def _config(folder: Path) -> Path:
    path = folder / "sqlqd.toml"
    path.write_text('[daemon]\ndatabase = "queue.db"\n[queues.mail]\ncommand = "true"\n')
    return path
