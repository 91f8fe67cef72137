"""Output of any bytes is logged and kept, and changes nothing about the job's end."""

import sys
from pathlib import Path

import pytest

from tests.support.lone_worker import LoneWorker

SPLIT = (
    "import os,time;e=chr(0x1F600).encode();os.write(1,e[:2]);time.sleep(0.1);os.write(1,e[2:]+bytes([10]))"
)
ACROSS = (
    "import os;e=chr(0x1F600).encode();os.write(1,b'x'*65534+bytes([10])+e[:1]);os.write(1,e[1:]+bytes([10]))"
)
QUEUES = f"""
[queues.invalid]
command = '''printf '\\210\\377ok\\n' '''
[queues.random]
command = "head -c 100000 /dev/urandom; exit 3"
max_attempts = 1
[queues.split]
command = ["{sys.executable}", "-c", "{SPLIT}"]
[queues.across]
command = ["{sys.executable}", "-c", "{ACROSS}"]
[queues.nul]
command = '''printf 'a\\000b\\n'; exit 3'''
max_attempts = 1
"""


@pytest.mark.case("C37")
@pytest.mark.parametrize(
    ("queue", "line"), [("invalid", "\ufffd\ufffdok"), ("split", "😀"), ("across", "😀")]
)
def test_bytes_are_replaced_and_characters_stay_whole(tmp_path: Path, queue: str, line: str) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add(queue)
        assert worker.ended(job)["event"] == "job.finished"
        assert worker.events("job.output", job)[-1]["line"] == line


@pytest.mark.case("C37")
def test_noise_is_stored_and_the_command_has_its_own_end(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("random")
        assert worker.ended(job)["reason"] == "exit 3"
        worker.event("job.dead", job)
        last_error = worker.record(job).last_error
        assert last_error.startswith("exit 3\n[the end of 100000 bytes of output]\n")
        assert "\0" not in last_error


@pytest.mark.case("C37")
def test_a_nul_is_spelled_out(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("nul")
        worker.event("job.dead", job)
        assert worker.events("job.output", job)[0]["line"] == "a\0b"
        assert worker.record(job).last_error == "exit 3\na\\u0000b\n"
    assert b"\0" not in worker.text()
