"""The write-ahead log stays short while jobs flow, and is cut once a reader that kept it long has left."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
import pytest

from sqlqd.model import NewJob, Selection
from sqlqd.store.database import LOG_LIMIT
from sqlqd.store.sqlite import SqliteStore, open_store
from tests.support.clocks import TwoHands
from tests.support.daemon import Daemon, alive, children, until

QUEUES = '[queues.noop]\ncommand = ":"\nkeep_done = "0s"\nmax_crashes = 1000\n'
MENTIONED = 64 * 1024 * 1024
"""Bytes from which on people are told. Without long readers it is not reached, however fast jobs come."""

FLOOD = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
INSERT INTO jobs (queue, payload) SELECT 'nobody', hex(randomblob(30000)) FROM n;
"""


@contextmanager
def reading(database: Path) -> Iterator[Callable[[], None]]:
    """Another program reads one view for a long time, until it is told to leave."""
    with subprocess.Popen(
        ["sqlite3", str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        reader.stdin.write("BEGIN;\nSELECT 'n', count(*) FROM jobs;\n")
        reader.stdin.flush()
        assert reader.stdout.readline().startswith("n|")
        yield reader.stdin.close
        if not reader.stdin.closed:
            reader.stdin.close()


def log_size(database: Path) -> int:
    try:
        return Path(f"{database}-wal").stat().st_size
    except FileNotFoundError:
        return 0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = open_store(tmp_path / "queue.db", TwoHands(), create=True, autocheckpoint=False)
    yield opened
    opened.close()


def grow(store: SqliteStore) -> None:
    store.enqueue([NewJob("mail", "x" * 60_000) for _ in range(2 * LOG_LIMIT // 60_000)])


@pytest.mark.case("C08")
def test_it_stays_short_while_jobs_come_and_go(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES, workers=2) as daemon:
        daemon.start()
        pair = (
            "INSERT INTO jobs (queue, payload) VALUES ('nobody', hex(randomblob(500)));\nDELETE FROM jobs;\n"
        )
        with subprocess.Popen(
            ["sqlite3", "-cmd", ".timeout 10000", str(daemon.database)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        ) as producer:
            assert producer.stdin is not None
            producer.stdin.write("PRAGMA wal_autocheckpoint = 0;\n")
            largest = 0
            for _ in range(100):
                producer.stdin.write(pair * 60)
                producer.stdin.flush()
                largest = max(largest, log_size(daemon.database))
            producer.stdin.close()
            while producer.poll() is None:
                largest = max(largest, log_size(daemon.database))
        assert 0 < largest < MENTIONED
        assert daemon.events("database.log_grows") == []


@pytest.mark.case("C08")
def test_a_long_reader_is_mentioned_and_the_log_cut_when_it_leaves(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES) as daemon:
        daemon.start()
        with reading(daemon.database) as leave:
            daemon.sql(FLOOD.format(count=1200))
            said = daemon.event("database.log_grows", level="warning")
            assert said["bytes"] >= MENTIONED
            assert log_size(daemon.database) >= said["bytes"]
            daemon.event("job.finished", job_id=daemon.insert("noop"))
            leave()
            until(lambda: log_size(daemon.database) <= LOG_LIMIT, "the log is cut")
        assert len(daemon.events("database.log_grows")) == 1
        assert daemon.sql("PRAGMA integrity_check") == "ok"


@pytest.mark.case("C08")
def test_deaths_of_the_whole_daemon_leave_no_log_behind(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES) as daemon:
        sizes: list[int] = []
        for _ in range(6):
            daemon.start()
            daemon.sql(FLOOD.format(count=20).replace("'nobody'", "'noop'"))
            until(lambda: len(daemon.events("job.started")) > 3 * len(sizes), "jobs run")
            offspring = [below for child in children(daemon.pid) for below in (child, *children(child))]
            for pid in (daemon.pid, *offspring):
                # They leave by themselves once their parent is gone.
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            daemon.ended()
            until(lambda gone=offspring: not any(map(alive, gone)), "all are gone")  # type: ignore[misc]  # bound at once
            sizes.append(log_size(daemon.database))
        assert max(sizes) < 2 * LOG_LIMIT
        assert daemon.sql("PRAGMA integrity_check") == "ok"


@pytest.mark.case("C08")
def test_a_log_that_is_copied_but_still_read_is_not_done_with(tmp_path: Path, store: SqliteStore) -> None:
    grow(store)
    with reading(tmp_path / "queue.db") as leave:
        assert store.checkpoint() > LOG_LIMIT
        leave()
    until(lambda: store.checkpoint() == 0, "it can be cut")
    assert log_size(tmp_path / "queue.db") == 0


@pytest.mark.case("C08")
def test_no_open_store_keeps_a_view(tmp_path: Path, store: SqliteStore) -> None:
    list(store.find(Selection()))
    store.overview(["mail"])
    store.tidy()
    other = apsw.Connection(str(tmp_path / "queue.db"))
    other.wal_autocheckpoint(0)
    other.execute("INSERT INTO jobs (queue) VALUES ('mail')")
    assert other.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE) == (0, 0)
    other.close()
