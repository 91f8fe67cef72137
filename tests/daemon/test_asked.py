"""What people ask of a daemon while it runs: to end jobs, and to hold queues."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon import SQLQD, Daemon, alive, until

QUEUES = """
[queues.tree]
command = "setsid sleep 1000 & echo pids $$ $! >&2; sleep 1000"
timeout = "1min"
backoff = { initial = "1h", jitter = 0.0 }

[queues.stubborn]
command = "trap '' TERM; echo pids $$ >&2; sleep 1000; sleep 1000"
timeout = "1min"
kill_grace = "300ms"
max_attempts = 2

[queues.quick]
command = "true"
timeout = "1min"

[queues.second]
command = "sleep $(cat)"
timeout = "1min"
"""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path, QUEUES, workers=2) as daemon:
        yield daemon.start()


def running(daemon: Daemon, queue: str) -> tuple[str, list[int]]:
    """A job that runs: its id, and its processes."""
    job = daemon.insert(queue)
    words = daemon.event("job.output", job_id=job, stream="stderr")["line"].split()
    return job, [int(word) for word in words[1:]]


def good(daemon: Daemon, *words: str) -> str:
    done = daemon.sqlqd(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("queue", ["tree", "stubborn"])
@pytest.mark.parametrize(
    ("verb", "event", "table"),
    [
        (("cancel",), "job.cancelled", "done_jobs"),
        (("kill", "--bury"), "job.dead", "dead_jobs"),
        (("kill",), "job.retry", "jobs"),
    ],
)
def test_a_running_job_ends_with_its_whole_tree(
    daemon: Daemon, queue: str, verb: tuple[str, ...], event: str, table: str
) -> None:
    job, pids = running(daemon, queue)
    for _ in range(2):
        good(daemon, *verb, job[:12])
    daemon.event(event, job_id=job)
    assert not any(alive(pid) for pid in pids)
    assert daemon.sql(f"SELECT count(*) FROM {table} WHERE id = '{job}'") == "1"
    if event != "job.cancelled":
        assert daemon.event("job.failed", job_id=job)["reason"] == "killed"
        assert daemon.event("job.killed", job_id=job)
    assert len(daemon.events("job.started", job_id=job)) == 1


def test_a_cancelled_job_does_not_run_again_though_its_worker_dies(daemon: Daemon) -> None:
    job, pids = running(daemon, "stubborn")
    worker = daemon.event("job.started", job_id=job)["worker"]
    # So that nobody hears of it before the worker is dead.
    os.kill(daemon.worker_pids[worker], signal.SIGSTOP)
    good(daemon, "cancel", job)
    os.kill(daemon.worker_pids[worker], signal.SIGKILL)
    daemon.event("job.cancelled", job_id=job)
    assert not any(alive(pid) for pid in pids)
    assert daemon.sql(f"SELECT outcome FROM done_jobs WHERE id = '{job}'") == "cancelled"


def test_a_paused_queue_waits_while_others_go_on_and_over_a_restart(daemon: Daemon) -> None:
    assert good(daemon, "pause", "quick") == "paused quick\n"
    waiting, other = daemon.insert("quick"), daemon.insert("second", "0")
    daemon.event("job.finished", job_id=other)
    daemon.event("queue.paused", queue="quick")
    daemon.stop()
    daemon.start()
    daemon.event("job.finished", job_id=daemon.insert("second", "0"))
    assert not daemon.events("job.started", job_id=waiting)
    assert good(daemon, "resume", "quick", "second") == "resumed quick\nnot paused: second\n"
    daemon.event("job.finished", job_id=waiting)
    daemon.event("queue.resumed", queue="quick")


def test_a_pause_for_a_time_ends_by_itself(daemon: Daemon) -> None:
    good(daemon, "pause", "quick", "--for", "3s")
    job = daemon.insert("quick")
    daemon.event("queue.paused", queue="quick")
    assert not daemon.events("job.started", job_id=job)
    daemon.event("job.finished", job_id=job)
    daemon.event("queue.resumed", queue="quick")


def test_a_pause_waits_until_nothing_of_it_runs(daemon: Daemon) -> None:
    job = daemon.insert("second", "1")
    daemon.event("job.started", job_id=job)
    assert daemon.sqlqd("pause", "second", "--wait", "--timeout", "100ms").returncode == 124
    good(daemon, "pause", "--all", "--wait")
    assert daemon.sql("SELECT count(*) FROM jobs WHERE locked_by IS NOT NULL") == "0"
    # That of one queue is ended, and that of all stays.
    assert daemon.sqlqd("resume", "second").returncode == 1
    waiting = daemon.insert("second", "0")
    daemon.event("queue.paused", queue="*")
    good(daemon, "resume", "--all")
    daemon.event("job.finished", job_id=waiting)


def test_a_daemon_that_starts_paused_runs_nothing_until_it_is_resumed(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES) as daemon:
        daemon.start().stop()
        job = daemon.insert("quick")
    told = (*SQLQD, "-c", str(tmp_path / "sqlqd.toml"), "run", "--paused")
    with Daemon(tmp_path, QUEUES, command=told) as daemon:
        daemon.start()
        daemon.event("queue.paused", queue="*")
        assert not daemon.events("job.started")
        good(daemon, "resume", "--all")
        until(lambda: daemon.events("job.finished", job_id=job), "it runs")
