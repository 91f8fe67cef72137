"""What is lacking for a while, or a log that nobody reads, is no job's fault and stops nothing."""

import os
import resource
import signal
from pathlib import Path

import pytest

from tests.support.lone_worker import LoneWorker, until

QUEUES = """
[queues.quick]
command = "echo ran >> ran"
cwd = "."
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
