"""Whatever dies or stands still, work goes on, soon, and never twice at once."""

import os
import signal
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlqd import exits
from tests.support.daemon import Daemon, alive, children, until

QUEUES = """
[defaults]
kill_grace = "1s"
backoff = { initial = "0s", jitter = 0.0 }
max_crashes = 100
max_attempts = 100
[queues.long]
command = "setsid sleep 1001 & exec sleep 1000"
lease = "3s"
[queues.deaf]
command = "trap '' TERM; while :; do sleep 0.05; done"
[queues.quick]
command = ":"
lease = "2s"
"""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path, QUEUES) as made:
        yield made.start()


def offspring(pid: int) -> list[int]:
    return [one for child in children(pid) for one in (child, *offspring(child))]


def started(daemon: Daemon, job: str, attempt: int) -> int:
    """The worker that runs that attempt."""
    return int(daemon.worker_pids[daemon.event("job.started", job_id=job, attempt=attempt)["worker"]])


def test_a_dead_workers_job_starts_again_long_before_its_lease_would_have_ended(
    daemon: Daemon,
) -> None:
    job = daemon.insert("long")
    shares = []
    for attempt in range(1, 8):
        worker = started(daemon, job, attempt)
        until(lambda: len(offspring(worker)) == 2, "what it runs")  # noqa: B023 - called at once
        end = float(daemon.sql("SELECT lease_end FROM jobs"))
        began = time.monotonic()
        os.kill(worker, signal.SIGKILL)
        started(daemon, job, attempt + 1)
        shares.append((time.monotonic() - began) / (end - began))
    assert statistics.median(shares) < 1 / 3, shares


@pytest.mark.parametrize("queue", ["long", "deaf"])
def test_a_worker_that_stands_still_is_ended_with_its_command_before_its_lease_ends(
    tmp_path: Path, queue: str
) -> None:
    text = QUEUES.replace("[queues.deaf]", '[queues.deaf]\nlease = "2s"')
    with Daemon(tmp_path, text) as daemon:
        daemon.start()
        job = daemon.insert(queue)
        worker = started(daemon, job, 1)
        below = until(lambda: offspring(worker), "what it runs")
        os.kill(worker, signal.SIGSTOP)
        end = float(daemon.sql("SELECT lease_end FROM jobs"))
        until(lambda: not any(alive(pid) for pid in (worker, *below)), "both are ended")
        assert time.monotonic() < end
        started(daemon, job, 2)
        assert daemon.events("worker.stuck")[0]["reason"] == "it does not renew its lease"


def test_when_the_parent_is_killed_all_is_gone_in_about_a_second(daemon: Daemon) -> None:
    jobs = [daemon.insert("long"), daemon.insert("deaf")]
    for job in jobs:
        started(daemon, job, 1)
    below = until(lambda: len(found := offspring(daemon.pid)) >= 6 and found, "all of them")
    daemon.signal(signal.SIGKILL)
    until(lambda: not any(alive(pid) for pid in below), "nothing is left", patience=5)
    assert daemon.sql("SELECT sum(attempts), count(locked_by) FROM jobs") == "0|0"


def test_when_all_die_at_once_everything_acknowledged_is_there(daemon: Daemon) -> None:
    ids = set()
    for _ in range(3):
        ids |= {daemon.sqlqd("enqueue", "quick").stdout.strip() for _ in range(4)}
        family = [daemon.pid, *children(daemon.pid)]
        for pid in family:
            os.kill(pid, signal.SIGKILL)
        daemon.start()
    until(lambda: daemon.sql("SELECT count(*) FROM jobs") == "0", "all are done")
    assert set(daemon.sql("SELECT id FROM done_jobs").split()) == ids
    assert daemon.sql("PRAGMA integrity_check") == "ok"
    assert daemon.stop() == exits.OK


def test_a_steward_that_dies_again_and_again_costs_no_job(daemon: Daemon) -> None:
    for _ in range(5):
        before = daemon.steward_pid
        os.kill(before, signal.SIGKILL)
        job = daemon.insert("quick")
        daemon.event("job.finished", job_id=job)
        until(lambda: daemon.steward_pid != before, "another steward")  # noqa: B023 - called at once
    assert not daemon.events("job.lease_lost")
