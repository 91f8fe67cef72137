"""No pipe is waited for while another one fills."""

import sys
from pathlib import Path

import pytest

from tests.support.lone_worker import LoneWorker

BOTH = "import sys;[(sys.stderr.write('e'*1000),sys.stdout.write('o'*1000)) for _ in range(2000)]"
WRITES_FIRST = "import sys;sys.stdout.write('o'*1048576);sys.stdout.flush();print(len(sys.stdin.read()))"
QUEUES = f"""
[defaults]
max_payload = "2MiB"
timeout = "20s"
log_output = false
max_attempts = 1
[queues.both]
command = ["{sys.executable}", "-c", "{BOTH}"]
[queues.writes-first]
command = ["{sys.executable}", "-c", "{WRITES_FIRST}"]
[queues.fails-after]
command = ["{sys.executable}", "-c", "{WRITES_FIRST};sys.exit(3)"]
[queues.never-reads]
command = "exit 0"
[queues.closes]
command = "exec <&-; sleep 0.1; exit 0"
"""


@pytest.mark.case("C23")
@pytest.mark.parametrize(
    ("queue", "payload"),
    [
        ("both", ""),
        ("writes-first", "x" * 1_048_576),
        ("never-reads", "x" * 1_048_576),
        ("closes", "x" * 1_048_576),
    ],
)
def test_it_finishes_and_succeeds(tmp_path: Path, queue: str, payload: str) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add(queue, payload)
        assert worker.ended(job)["event"] == "job.finished"


@pytest.mark.case("C23")
def test_all_of_the_payload_arrives_and_the_end_of_the_output_is_kept(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("fails-after", "x" * 1_048_576)
        assert worker.ended(job)["exit_code"] == 3
        worker.event("job.dead", job)
        assert worker.record(job).last_error.endswith("oooo1048576\n")
