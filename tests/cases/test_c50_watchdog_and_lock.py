"""The watchdog is fed while the daemon works, whoever locks the database; and not for another process."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.daemon import Daemon, until

USEC = 1_500_000
QUEUES = '[queues.quick]\ncommand = "true"\nlease = "2s"\n'


def pings(daemon: Daemon) -> int:
    return daemon.notices.count("WATCHDOG=1")


def longest_gap(daemon: Daemon, seconds: float) -> float:
    """The longest time between two pings within so many seconds."""
    longest, fed, seen = 0.0, time.monotonic(), pings(daemon)
    end = fed + seconds
    while time.monotonic() < end:
        time.sleep(0.02)
        if (count := pings(daemon)) > seen:
            longest, fed, seen = max(longest, time.monotonic() - fed), time.monotonic(), count
    return max(longest, time.monotonic() - fed)


@pytest.mark.case("C50")
def test_a_locked_database_alone_never_trips_it(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES, env={"WATCHDOG_USEC": str(USEC)}, daemon='busy_timeout = "30s"') as daemon:
        daemon.start()
        job = daemon.insert("quick")
        daemon.event("job.finished", job_id=job)
        with daemon.locked():
            assert longest_gap(daemon, 4.0) < USEC / 1e6
        job = daemon.insert("quick")
        daemon.event("job.finished", job_id=job)


@pytest.mark.case("C50")
def test_workers_that_stand_still_are_replaced(tmp_path: Path) -> None:
    sleeper = '[queues.sleeper]\ncommand = "sleep 30"\nlease = "2s"\n'
    with Daemon(tmp_path, sleeper, env={"WATCHDOG_USEC": str(USEC)}) as daemon:
        daemon.start()
        jobs = [daemon.insert("sleeper") for _ in range(2)]
        for job in jobs:
            daemon.event("job.started", job_id=job)
        stopped = dict(daemon.worker_pids)
        for pid in stopped.values():
            os.kill(pid, signal.SIGSTOP)
        until(lambda: len(daemon.events("worker.stuck")) >= 2, "both are found out")
        until(lambda: not set(stopped.values()) & set(daemon.worker_pids.values()), "both are replaced")
        assert longest_gap(daemon, 1.6) < USEC / 1e6


@pytest.mark.case("C50")
def test_a_watchdog_that_is_meant_for_another_is_not_fed(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES, env={"WATCHDOG_USEC": "200000", "WATCHDOG_PID": "1"}) as daemon:
        daemon.start()
        job = daemon.insert("quick")
        daemon.event("job.finished", job_id=job)
        time.sleep(0.5)
        assert pings(daemon) == 0
