"""A worker that stands still with the database's write lock holds everybody up, but not for long."""

import os
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL

from tests.support.daemon import Daemon, children, until

QUEUES = '[queues.noop]\ncommand = ":"\nlease = "60s"\n'


def test_a_worker_that_stops_with_the_write_lock_is_ended_and_work_goes_on(tmp_path: Path) -> None:
    # Late enough that no other process comes so far while there are jobs.
    env = {"SQLQD_FAULT": "store.before_commit=stop@12"}
    with Daemon(tmp_path, QUEUES, env=env) as daemon:
        jobs = {daemon.sqlqd("enqueue", "noop").stdout.strip() for _ in range(14)}
        daemon.start()
        stuck = daemon.event("worker.stuck", 25.0)
        assert "stands still" in stuck["reason"]
        until(lambda: {record["job_id"] for record in daemon.events("job.finished")} == jobs, "all run")
        assert daemon.sql("SELECT count(*) FROM jobs") == "0"
        assert daemon.sql("PRAGMA integrity_check") == "ok"
        end_all(daemon)


def end_all(daemon: Daemon) -> None:
    """Another one may stop at its twelfth transaction as it says goodbye, and would be waited for in vain."""
    family = [daemon.pid, *children(daemon.pid)]
    for pid in family:
        with suppress(ProcessLookupError):
            os.kill(pid, SIGKILL)
    daemon.ended()
