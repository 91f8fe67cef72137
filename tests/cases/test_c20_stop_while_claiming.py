"""A stop at any moment of the work: what was claimed is run or given back, and nothing is begun after it."""

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from sqlqd import exits
from tests.support.daemon import Daemon, until

QUEUES = """
[queues.true]
command = "echo $SQLQD_JOB_ID >> ran"
cwd = "."
lease = "1h"
log_output = false
"""
STOPS = int(os.environ.get("SQLQD_TEST_STOPS", "60"))
"""In all; 200 take a minute."""

ROUNDS = 4
WORKERS = 4
JOBS = 500
"""In each round, and so 2000 in all; the lease is so long that no job could wait for its end."""


def add(daemon: Daemon, jobs: int) -> None:
    daemon.sql(
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {jobs}) "
        "INSERT INTO jobs (queue) SELECT 'true' FROM n"
    )


def stop_at(daemon: Daemon, seconds: float, how: str) -> None:
    """Start it, and stop it so long after its first claim."""
    log = daemon.home / "daemon.log"
    before = log.stat().st_size if log.exists() else 0
    daemon.start(ready=False)
    until(lambda: log.stat().st_size > before and b"job.started" in tail(log, before), "a job runs")
    time.sleep(seconds)
    if how == "both":
        os.kill(daemon.pid, signal.SIGINT)
    os.kill(daemon.pid, signal.SIGTERM)
    if how == "twice":
        time.sleep(0.01)
        if daemon.running:
            os.kill(daemon.pid, signal.SIGTERM)
    assert daemon.ended() == exits.OK, daemon.log[-2000:]
    # A claim that was under way is carried out; there is one a worker at most.
    assert tail(log, before).partition(b'"daemon.stopping"')[2].count(b'"job.started"') <= WORKERS


def tail(path: Path, offset: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read()


def nothing_is_held_nor_begun_late(daemon: Daemon) -> None:
    assert daemon.sql("SELECT count(*) FROM jobs WHERE locked_by IS NOT NULL OR attempts > 0") == "0"


@pytest.mark.case("C20")
@pytest.mark.timeout(180)
@pytest.mark.parametrize("seed", range(ROUNDS))
def test_every_job_runs_and_none_is_left_held(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    with Daemon(tmp_path, QUEUES, workers=WORKERS) as daemon:
        daemon.start().stop()
        add(daemon, JOBS)
        for _ in range(STOPS // ROUNDS):
            if daemon.sql("SELECT count(*) FROM jobs") == "0":
                add(daemon, JOBS // 2)
            stop_at(daemon, rng.uniform(0.0, 0.05), rng.choice(["once", "twice", "both"]))
            nothing_is_held_nor_begun_late(daemon)
        daemon.start()
        until(lambda: daemon.sql("SELECT count(*) FROM jobs") == "0", "the rest is done")
        assert daemon.stop() == exits.OK
        ran = Counter((tmp_path / "ran").read_text().split())
        done = daemon.sql("SELECT id FROM done_jobs").split()
        assert set(done) == set(ran)
        assert daemon.sql("SELECT max(attempts) FROM done_jobs") == "1"
