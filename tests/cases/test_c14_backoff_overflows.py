"""Waits stay within their cap, and never lie in the past, at any number of attempts."""

import time
from pathlib import Path

import pytest

from tests.support.lone_worker import LoneWorker, until

QUEUES = """
[queues.fails]
command = "exit 1"
max_attempts = 5000
backoff = {initial = "1s", max = "1h", jitter = 0.0}
[queues.spreads]
command = "exit 1"
max_attempts = 5000
backoff = {initial = "1s", max = "1h", jitter = 1.0}
[queues.at-once]
command = "exit 1"
max_attempts = 5000
backoff = {initial = "0s", max = "0s", jitter = 0.0}
"""
ATTEMPTS = (3, 62, 63, 64, 1023, 1024, 4000)


@pytest.mark.case("C14")
def test_no_number_of_attempts_breaks_the_wait(tmp_path: Path) -> None:
    worker = LoneWorker(tmp_path, QUEUES)
    began = time.time()
    jobs = {}
    for queue in ("fails", "spreads"):
        for attempts in ATTEMPTS:
            jobs[queue, attempts] = job = worker.add(queue)
            worker.sql("UPDATE jobs SET attempts = ? WHERE id = ?", attempts - 1, job)
    with worker:
        until(lambda: len(worker.events("job.retry")) == len(jobs))
    records = {name: worker.record(job) for name, job in jobs.items()}
    assert all(record.attempts == name[1] for name, record in records.items())
    waits = [records["fails", attempts].run_at for attempts in ATTEMPTS]
    assert began + 4.0 <= waits[0] <= time.time() + 4.0
    assert all(began + 3600.0 <= run_at <= time.time() + 3600.0 for run_at in waits[1:])
    spread = [records["spreads", attempts].run_at for attempts in ATTEMPTS]
    assert all(began <= run_at <= time.time() + 7200.0 for run_at in spread)
    assert not worker.events("worker.crashed")


@pytest.mark.case("C14")
def test_a_wait_of_nothing_is_due_at_once_and_ends(tmp_path: Path) -> None:
    worker = LoneWorker(tmp_path, QUEUES)
    job = worker.add("at-once")
    worker.sql("UPDATE jobs SET attempts = 4989 WHERE id = ?", job)
    with worker:
        worker.event("job.dead", job)
    assert worker.record(job).attempts == 5000
