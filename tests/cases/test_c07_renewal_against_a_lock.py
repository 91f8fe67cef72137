"""Another program keeps the database locked most of the time: leases are renewed in the gaps."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.daemon import Daemon, alive, until

QUEUES = """
[queues.long]
command = "echo began >> runs; sleep 10; echo ended >> runs"
cwd = "."
lease = "4s"
"""

_LOCKS = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], timeout=10, isolation_level=None)
while True:
    connection.execute("BEGIN IMMEDIATE")
    print("locked", flush=True)
    time.sleep(3.0)
    connection.execute("ROLLBACK")
    time.sleep(0.2)
"""


@contextmanager
def locked_most_of_the_time(database: Path) -> Iterator[None]:
    command = [sys.executable, "-c", _LOCKS, str(database)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as locker:
        assert locker.stdout is not None
        assert locker.stdout.readline() == "locked\n"
        try:
            yield
        finally:
            locker.kill()


@pytest.mark.case("C07")
def test_a_job_longer_than_its_lease_runs_once(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES, daemon='busy_timeout = "1s"') as daemon:
        daemon.start()
        job = daemon.insert("long")
        daemon.event("job.started", job_id=job)
        workers = daemon.worker_pids
        with locked_most_of_the_time(daemon.database):
            until(lambda: "ended" in (tmp_path / "runs").read_text(), "the command ended", 30.0)
            daemon.event("job.finished", job_id=job)
        assert (tmp_path / "runs").read_text() == "began\nended\n"
        assert daemon.events("job.lease_lost") == []
        assert daemon.events("worker.crashed") == []
        assert daemon.events("worker.stuck") == []
        assert daemon.events("job.lost") == []
        assert daemon.worker_pids == workers
        assert all(alive(pid) for pid in workers.values())
        assert len(daemon.events("store.waiting")) <= 6
        assert daemon.sql("SELECT outcome, attempts FROM done_jobs") == "done|1"
        assert daemon.sql("SELECT count(*) FROM jobs") == "0"
