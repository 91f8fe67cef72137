"""A payload of any size arrives whole by standard input, and is in the environment only where it fits."""

import hashlib
from pathlib import Path

import pytest

from tests.support.lone_worker import LoneWorker

QUEUES = """
[queues.sum]
command = 'echo ${#SQLQD_PAYLOAD} ${SQLQD_PAYLOAD+set}; sha256sum'
max_payload = "10MiB"
[queues.alone]
command = 'echo ${SQLQD_PAYLOAD+set}; sha256sum'
payload_env = false
[queues.tiny]
command = "cat"
max_payload = 10
"""
LIMIT = 64 * 1024


@pytest.mark.case("C33")
@pytest.mark.parametrize(
    "payload",
    [
        "x" * 131_000,
        "x" * 131_072,
        "x" * 200_000,
        "x" * 5_242_880,
        "x" * LIMIT,
        "x" * (LIMIT + 1),
        "€" * 30_000,
    ],
    ids=["131000", "131072", "200000", "5MiB", "limit", "limit+1", "three bytes a character"],
)
def test_it_arrives_whole(tmp_path: Path, payload: str) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("sum", payload)
        assert worker.ended(job)["event"] == "job.finished"
        said = [record["line"].split() for record in worker.events("job.output", job)]
        assert said[1][0] == hashlib.sha256(payload.encode()).hexdigest()
        if len(payload.encode()) <= LIMIT:
            assert said[0] == [str(LIMIT), "set"]
        else:
            assert said[0] == ["0"]


@pytest.mark.case("C33")
def test_a_queue_may_keep_payloads_out_of_the_environment(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("alone", "secret")
        worker.event("job.finished", job)
        said = [record["line"].split() for record in worker.events("job.output", job)]
        assert said == [[], [hashlib.sha256(b"secret").hexdigest(), "-"]]


@pytest.mark.case("C33")
def test_a_row_over_the_limit_is_dead_with_the_reason(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        ((job,),) = worker.sql("INSERT INTO jobs (queue, payload) VALUES ('tiny', ?) RETURNING id", "x" * 11)
        assert "11 bytes" in worker.event("job.dead", job)["reason"]
        worker.event("job.finished", worker.add("tiny", "x" * 10))


@pytest.mark.case("C33")
def test_a_job_that_no_process_can_hold_is_dead_and_the_queue_goes_on(tmp_path: Path) -> None:
    worker = LoneWorker(tmp_path, QUEUES)
    job = worker.add("sum", "x")
    worker.sql("UPDATE jobs SET key = ? WHERE id = ?", "k" * 140_000, job, checked=False)
    with worker:
        assert "too large for environment (140" in worker.event("job.dead", job)["reason"]
        worker.event("job.finished", worker.add("sum", "y"))
        assert not worker.events("queue.blocked")
