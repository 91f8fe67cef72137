"""A job that takes its worker down: so often and no more, and its neighbours do not notice."""

from pathlib import Path

import pytest

from tests.support.daemon import Daemon, until

QUEUES = """
[defaults]
cwd = "."
lease = "2s"
[queues.poison]
command = "echo $SQLQD_ATTEMPT >> runs; kill -9 $PPID; sleep 30"
{limit}
[queues.good]
command = "echo $SQLQD_JOB_ID >> good"
"""


@pytest.mark.case("C15")
@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ("max_attempts = 3\nmax_crashes = 20", "worker lost: 3 of 3 attempts"),
        ("max_attempts = 20\nmax_crashes = 3", "worker lost: 3 of 3 crashes"),
    ],
)
def test_it_is_dead_with_that_reason_and_the_others_are_done(tmp_path: Path, limit: str, reason: str) -> None:
    with Daemon(tmp_path, QUEUES.format(limit=limit), workers=2) as daemon:
        daemon.start()
        poison = daemon.insert("poison")
        daemon.sql(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) "
            "INSERT INTO jobs (queue) SELECT 'good' FROM n"
        )
        assert daemon.event("job.dead", job_id=poison)["reason"] == reason
        until(lambda: daemon.sql("SELECT count(*) FROM jobs") == "0", "the others are done")
        assert (tmp_path / "runs").read_text().split() == ["1", "2", "3"]
        ran = (tmp_path / "good").read_text().split()
        assert (len(ran), len(set(ran))) == (50, 50)
        assert daemon.sql("SELECT id, attempts, reason FROM dead_jobs") == f"{poison}|3|{reason}"
        done = "SELECT count(*), count(DISTINCT id), max(attempts) FROM done_jobs"
        assert daemon.sql(done) == "50|50|1"
        assert len(daemon.events("worker.crashed")) == 3
        assert daemon.stop() == 0


@pytest.mark.case("C15")
def test_it_does_not_wait_for_its_lease_each_time(tmp_path: Path) -> None:
    queues = QUEUES.format(limit="max_crashes = 3").replace('lease = "2s"', 'lease = "10min"')
    with Daemon(tmp_path, queues, workers=1) as daemon:
        daemon.start()
        job = daemon.insert("poison")
        daemon.event("job.dead", job_id=job)
        daemon.event("job.finished", job_id=daemon.insert("good"))
