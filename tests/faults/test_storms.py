"""Endless output costs the command time and nobody else memory, log or lease."""

from pathlib import Path

import pytest

from tests.support.lone_worker import LoneWorker

QUEUES = """
[defaults]
lease = "2s"
[queues.lines]
command = "yes | head -c 400M"
[queues.zeros]
command = "head -c 400M /dev/zero"
[queues.long]
command = "many() { head -c $1 /dev/zero | tr '\\\\0' $2; echo; }; many 10000000 x; echo after; many 3000 y"
"""
MIB = 1024 * 1024


def peak(pid: int) -> int:
    """Bytes of memory that a process had at most."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(pid)


@pytest.mark.case("C35")
@pytest.mark.parametrize("queue", ["lines", "zeros"])
def test_memory_and_log_are_bounded_and_the_job_succeeds(tmp_path: Path, queue: str) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        worker.event("worker.started")
        before = peak(worker.pid)
        job = worker.add(queue)
        assert worker.ended(job, 50.0)["event"] == "job.finished"
        assert peak(worker.pid) - before < 16 * MIB
        assert len(worker.text()) < 4 * MIB
        assert not worker.events("job.lease_lost")
        if queue == "lines":
            told = worker.events("job.output", job)
            passed = sum(record.get("passed_over", 0) for record in told)
            lines = sum(1 for record in told if "passed_over" not in record)
            assert passed + lines == 400 * MIB // 2


@pytest.mark.case("X06")
def test_a_line_without_end_is_cut_and_reading_goes_on(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("long")
        assert worker.ended(job)["event"] == "job.finished"
        lines = [record["line"] for record in worker.events("job.output", job)]
        assert lines[0] == "x" * 2048 + "…[cut]"
        assert lines[1] == "after"
        assert lines[2] == "y" * 2048 + "…[cut]"
        assert max(len(line) for line in worker.text().splitlines()) < 4096
