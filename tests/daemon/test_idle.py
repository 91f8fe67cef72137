"""An idle daemon sleeps: how often all its processes wake, and what that costs."""

import re
import time
from pathlib import Path

from tests.support.daemon import Daemon, children, until

QUEUES = '[queues.noop]\ncommand = ":"\n[queues.sleep]\ncommand = "sleep 1000"\nkill_grace = "1s"\n'
SECONDS = 6.0


def wakings(pids: list[int]) -> dict[int, int]:
    """How often each process went to sleep of its own will."""
    found = {}
    for pid in pids:
        text = Path(f"/proc/{pid}/status").read_text()
        match = re.search(r"^voluntary_ctxt_switches:\s+(\d+)$", text, re.MULTILINE)
        assert match is not None
        found[pid] = int(match[1])
    return found


def rates(daemon: Daemon) -> dict[int, float]:
    pids = [daemon.pid, *children(daemon.pid)]
    before, began = wakings(pids), time.monotonic()
    time.sleep(SECONDS)
    after, seconds = wakings(pids), time.monotonic() - began
    return {pid: (after[pid] - before[pid]) / seconds for pid in pids}


def settle(daemon: Daemon) -> None:
    until(lambda: any("0 of 4 workers busy" in line for line in daemon.notices), "idle")
    time.sleep(3.0)


def test_an_idle_daemon_hardly_wakes(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES, workers=4) as daemon:
        daemon.start()
        daemon.event("job.finished", job_id=daemon.insert("noop"))
        settle(daemon)
        rate = rates(daemon)
        assert rate[daemon.pid] < 0.6
        assert rate[daemon.steward_pid] < 1.0
        # The workers together look about once a second; a look may sleep more than once.
        assert sum(rate[pid] for pid in daemon.worker_pids.values()) < 3.0


def test_with_jobs_for_later_it_sleeps_until_then(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES, workers=4) as daemon:
        daemon.start()
        daemon.insert("noop", delay=3600.0)
        settle(daemon)
        assert rates(daemon)[daemon.steward_pid] < 2.0


def test_with_every_worker_at_work_it_sleeps_too(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES, workers=2) as daemon:
        daemon.start()
        for _ in range(3):
            daemon.insert("sleep")
        until(lambda: len(daemon.events("job.started")) == 2, "both work")
        time.sleep(3.0)
        rate = rates(daemon)
        assert rate[daemon.pid] < 0.6
        assert rate[daemon.steward_pid] < 3.0
