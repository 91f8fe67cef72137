"""The lease: renewed through everything, given up before its end, and settled by nobody else."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sqlqd.model import Holder, Rules
from tests.support.lone_worker import ROOT, LoneWorker, alive, until

QUEUES = """
[defaults]
cwd = "."
lease = "2s"
kill_grace = "30s"
[queues.long]
command = "echo $$ >> began; sleep 5; echo ended >> ended"
drain_timeout = "30s"
[queues.deaf]
command = "trap '' TERM; echo $$ >> began; while :; do sleep 0.05; done"
[queues.storm]
command = "timeout 5 yes; exit 0"
"""


def first_pid(directory: Path) -> int:
    began = directory / "began"
    return int(until(lambda: began.read_text().split() if began.exists() else [])[0])


def lease_end(worker: LoneWorker, job: str) -> float:
    """By the awake clock, as the row has it."""
    return float(worker.sql("SELECT lease_end FROM jobs WHERE id = ?", job)[0][0])


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Somebody else's process holds the database's write lock."""
    script = (
        "import apsw,sys;c=apsw.Connection(sys.argv[1]);c.set_busy_timeout(10000);"
        "c.execute('BEGIN IMMEDIATE');print('ok',flush=True);sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    with holder:
        assert holder.stdout.readline() == b"ok\n"
        try:
            yield
        finally:
            holder.stdin.close()
            holder.wait()


def take_over(worker: LoneWorker, name: str) -> Any:
    """Claim as another worker would, once the lease has run out."""
    rules = [Rules(name, lease=60.0)]
    with worker.store() as store:
        until(store.expire_leases, 10.0)
        return store.claim(Holder("f" * 16, 9, 1), rules).claim


@pytest.mark.case("C19")
def test_a_drain_goes_on_renewing_until_the_command_has_ended(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("long")
        first_pid(tmp_path)
        worker.signal(signal.SIGTERM)
        for _ in range(30):
            time.sleep(0.1)
            with worker.store() as store:
                assert len(store.expire_leases()) == 0
        assert worker.wait() == 0
        assert worker.record(job).state.value == "done"
        assert (tmp_path / "ended").read_text() == "ended\n"


def test_a_storm_of_output_does_not_keep_it_from_renewing(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("storm")
        worker.event("job.started", job)
        first = lease_end(worker, job)
        until(lambda: lease_end(worker, job) > first + 1.9, 10.0)
        assert worker.ended(job)["event"] == "job.finished"


@pytest.mark.case("C16")
def test_a_worker_that_was_overtaken_changes_nothing_and_ends_its_command(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("deaf")
        pid = first_pid(tmp_path)
        worker.signal(signal.SIGSTOP)
        claim = take_over(worker, "deaf")
        assert (claim.job.id, claim.job.attempts) == (job, 2)
        worker.signal(signal.SIGCONT)
        until(lambda: not alive(pid), 5.0)
        worker.event("job.lease_lost", job)
        time.sleep(0.3)
        assert len(worker.events("job.lease_lost")) == 1
        assert worker.sql("SELECT locked_by, attempts FROM jobs") == [(claim.token, 2)]


def test_what_cannot_be_renewed_is_ended_before_the_lease(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("deaf")
        pid = first_pid(tmp_path)
        with locked(worker.database):
            end = lease_end(worker, job)
            until(lambda: not alive(pid), 10.0)
            assert time.monotonic() < end
            lost = worker.event("job.lease_lost", job)
        assert "renewed" in lost["reason"]
        assert len(worker.events("store.waiting")) == 1


def test_a_lock_of_a_second_costs_nothing(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES.replace('lease = "2s"', 'lease = "4s"')) as worker:
        job = worker.add("long")
        first_pid(tmp_path)
        for _ in range(2):
            with locked(worker.database):
                time.sleep(1.0)
            time.sleep(0.3)
        assert worker.ended(job)["event"] == "job.finished"
        assert worker.record(job).attempts == 1


def test_a_worker_whose_parent_is_gone_ends_its_command_and_leaves(tmp_path: Path) -> None:
    worker = LoneWorker(tmp_path, QUEUES)
    job = worker.add("deaf")
    script = (
        "import subprocess,sys;"
        "p=subprocess.Popen([sys.executable,'-m','tests.support.lone_worker',sys.argv[1]],stderr=sys.stderr);"
        "print(p.pid,flush=True);sys.stdin.read()"
    )
    with (tmp_path / "parent.log").open("wb") as log:
        parent = subprocess.Popen(
            [sys.executable, "-c", script, str(worker.config)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=ROOT,
        )
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        pid = first_pid(tmp_path)
        parent.kill()
        until(lambda: not alive(pid) and not alive(child), 5.0)
    record = worker.record(job)
    assert (record.state.value, record.attempts) == ("ready", 0)
