"""What is lacking for a while, or a log that nobody reads, is no job's fault and stops nothing."""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.daemon import Daemon, children
from tests.support.lone_worker import LoneWorker, alive, until

QUEUES = """
[queues.quick]
command = "echo ran >> ran"
cwd = "."
[queues.leaving]
command = "setsid sleep 300 & echo $! > left; until test -e go; do sleep 0.02; done"
cwd = "."
kill_grace = "0s"
[queues.chatty]
command = "yes | head -n 3000; echo ran >> ran"
cwd = "."
"""


@pytest.mark.case("X05")
def test_without_descriptors_a_job_is_released_and_tried_again(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        worker.event("worker.started")
        used = max(int(entry.name) for entry in Path(f"/proc/{worker.pid}/fd").iterdir())
        usual = resource.prlimit(worker.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(worker.pid, resource.RLIMIT_NOFILE, (used + 3, usual[1]))
        job = worker.add("quick")
        released = worker.event("job.released", job)
        assert "too many open files" in released["reason"]
        record = worker.record(job)
        assert (record.state.value, record.attempts) == ("scheduled", 0)
        assert not worker.events("queue.blocked")
        resource.prlimit(worker.pid, resource.RLIMIT_NOFILE, usual)
        assert worker.event("job.finished", job)
        assert worker.record(job).attempts == 1


def test_without_descriptors_nothing_that_a_command_left_counts_as_gone(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("leaving")
        left = int(until(lambda: (tmp_path / "left").exists() and (tmp_path / "left").read_text()))
        with _no_descriptors(worker.pid):
            (tmp_path / "go").touch()
            # The worker looks again and again, and stamps nothing as ended meanwhile.
            until(lambda: _zombie(worker.pid))
            assert not worker.events("job.finished", job)
        assert worker.event("job.finished", job)
        assert not alive(left)
        assert worker.record(job).attempts == 1


def test_a_parent_without_descriptors_still_ends_what_a_dead_worker_left(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES, workers=1) as daemon:
        daemon.start()
        daemon.insert("leaving")
        left = int(until(lambda: (tmp_path / "left").exists() and (tmp_path / "left").read_text()))
        with _no_descriptors(daemon.pid):
            os.kill(daemon.worker_pids[1], signal.SIGKILL)
            until(lambda: _zombie(daemon.pid))
            (tmp_path / "left").unlink()
        daemon.event("worker.crashed")
        assert not alive(left)
        until((tmp_path / "left").exists)
        assert daemon.running


@contextmanager
def _no_descriptors(pid: int) -> Iterator[None]:
    used = {int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir()}
    free = min(set(range(len(used) + 1)) - used)
    usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, usual[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)


def _zombie(parent: int) -> bool:
    """Whether a child of that process has ended, and is not reaped."""
    states = (Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2] for pid in children(parent))
    return any(state.startswith("Z") for state in states)


@pytest.mark.case("X08")
@pytest.mark.parametrize("reader", ["gone", "stuck"])
def test_jobs_go_on_without_a_reader_of_the_log(tmp_path: Path, reader: str) -> None:
    worker = LoneWorker(tmp_path, QUEUES)
    read, write = os.pipe()
    worker.start(stderr=write)
    os.close(write)
    if reader == "gone":
        os.close(read)
    try:
        jobs = [worker.add("chatty") for _ in range(3)]
        until(lambda: [worker.record(job).state.value for job in jobs] == ["done"] * 3)
        worker.signal(signal.SIGTERM)
        assert worker.wait() == 0
        assert (tmp_path / "ran").read_text() == "ran\n" * 3
    finally:
        worker.__exit__(None, None, None)
        if reader == "stuck":
            os.close(read)
