"""`sqlqd why` beside a real daemon: what it says is what goes on."""

import json
import os
import signal
from pathlib import Path
from typing import Any

from tests.support.daemon import Daemon, children, crew, until

QUEUES = """
[queues.slow]
command = "sleep 60"
concurrency = 1
kill_grace = "1s"
[queues.fails]
command = "exit 75"
backoff = { initial = "1h" }
[queues.missing]
command = ["/no/such/program"]
[queues.quick]
command = "true"
"""


def why(daemon: Daemon, job: str) -> Any:
    """The whole answer."""
    done = daemon.sqlqd("why", job, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def reason(daemon: Daemon, job: str, code: str) -> Any:
    """The answer, once it is that one."""
    return until(lambda: (found := why(daemon, job))["reason"] == code and found, f"{job} is {code}")


def test_each_job_is_told_what_holds_it_up(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES, workers=2) as daemon:
        first = daemon.sqlqd("enqueue", "quick").stdout.strip()
        daemon.sqlqd("pause", "quick")
        strange = daemon.insert("strange")
        assert why(daemon, first)["reason"] == "no_daemon"
        daemon.start()
        slow = daemon.insert("slow")
        running = reason(daemon, slow, "running")
        assert running["reasons"][0]["pid"] in daemon.worker_pids.values()
        waits = daemon.insert("slow")
        full = reason(daemon, waits, "full")
        assert f"by {slow[:12]}" in full["sentence"]
        assert reason(daemon, first, "paused")["reasons"][0]["paused_until"] is None
        assert "[queues.strange]" in reason(daemon, strange, "not_configured")["sentence"]
        failed = daemon.insert("fails")
        backoff = reason(daemon, failed, "backoff")
        assert "after attempt 1 failed with exit 75" in backoff["sentence"]
        assert backoff["reasons"][0]["due_at_iso"].endswith("Z")
        assert 2000 < backoff["reasons"][0]["due_in_seconds"] < 5000
        assert "/no/such/program" in reason(daemon, daemon.insert("missing"), "blocked")["sentence"]
        daemon.sqlqd("cancel", slow)
        assert reason(daemon, slow, "cancelled")
        reason(daemon, waits, "running")
        daemon.signal(signal.SIGTERM)
        late = daemon.insert("quick")
        daemon.sqlqd("resume", "quick")
        assert reason(daemon, late, "stopping")["reasons"][0]["daemon_pid"] == daemon.pid


def test_all_workers_are_busy_and_a_killed_daemon_leaves_a_lease(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES.replace("concurrency = 1", ""), workers=1) as daemon:
        daemon.start()
        held = daemon.insert("slow")
        reason(daemon, held, "running")
        waits = daemon.insert("slow")
        daemon.insert("quick")
        busy = reason(daemon, waits, "busy")
        assert busy["sentence"] == "The only worker is busy; another queue takes turns with it."
        # All at once, or the workers would see their parent's end and give the job back.
        worker = daemon.worker_pids[1]
        daemon.signal(signal.SIGSTOP)
        for pid in (*children(worker), *crew(daemon), daemon.pid):
            os.kill(pid, signal.SIGKILL)
        daemon.ended()
        gone = reason(daemon, held, "holder_gone")
        assert [one["reason"] for one in gone["reasons"]] == ["holder_gone", "no_daemon"]
        assert f"worker 1 (pid {worker}), which is gone" in gone["sentence"]
