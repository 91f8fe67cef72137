"""A disk that is full for a while costs time: no job is run again, none is lost, and the log stays short.

The disk is a limit on the size of files, which needs no rights to set and none to lift.
"""

import os
import resource
from pathlib import Path

import pytest

from tests.support.lone_worker import LoneWorker, until

QUEUES = """
[queues.good]
command = "echo ran >> ran; until [ -e go ]; do sleep 0.02; done"
cwd = "."
lease = "2s"
[queues.bad]
command = "echo ran >> ran-badly; until [ -e go ]; do sleep 0.02; done; exit 3"
cwd = "."
lease = "2s"
backoff = {initial = "1h"}
[queues.elsewhere]
command = "true"
"""


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fill(worker: LoneWorker) -> None:
    """From now on the worker's write-ahead log cannot grow."""
    log = Path(f"{worker.database}-wal")
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (log.stat().st_size, resource.RLIM_INFINITY))


def empty(worker: LoneWorker) -> None:
    resource.prlimit(worker.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@pytest.mark.case("C10")
@pytest.mark.parametrize(
    ("queue", "marker", "end"), [("good", "ran", "done"), ("bad", "ran-badly", "scheduled")]
)
def test_an_end_is_recorded_once_there_is_room_again(
    tmp_path: Path, queue: str, marker: str, end: str
) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        worker.event("worker.started")
        # So that the write-ahead log is longer than the log, which must still grow.
        worker.add("elsewhere", "x" * 60_000)
        until(lambda: worker.events("job.finished"))
        for _ in range(10):
            worker.sql("INSERT INTO jobs (queue, payload) VALUES ('nobody', ?)", "x" * 60_000)
        job = worker.add(queue)
        worker.event("job.started", job)
        fill(worker)
        (tmp_path / "go").touch()
        worker.event("store.waiting")
        before = processor_seconds(worker.pid)
        with pytest.raises(AssertionError):
            until(lambda: worker.events("job.finished", job) or worker.events("job.retry", job), 5.0)
        assert processor_seconds(worker.pid) - before < 1.0
        assert len(worker.events("store.waiting")) == 1
        assert worker.record(job).state.value == "running"
        empty(worker)
        worker.event("store.back")
        until(lambda: worker.record(job).state.value == end)
        assert worker.record(job).attempts == 1
        assert (tmp_path / marker).read_text() == "ran\n"
        assert worker.sql("PRAGMA integrity_check") == [("ok",)]
        worker.event("job.finished", worker.add("elsewhere"))
