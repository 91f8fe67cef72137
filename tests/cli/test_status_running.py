"""`sqlqd status` while a daemon works."""

import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.shell import SQLQD, Desk

TOML = """
[daemon]
database = "queue.db"
workers = 2
[queues.slow]
command = "sleep 60"
"""


def eventually(look: Callable[[], Any], holds: Callable[[Any], object]) -> Any:
    """What `look` sees once it holds; within 20 seconds."""
    end = time.monotonic() + 20
    while not holds(seen := look()):
        assert time.monotonic() < end, seen
        time.sleep(0.05)
    return seen


def stop(process: "subprocess.Popen[bytes]") -> None:
    """The first SIGINT asks it to stop, the next ends its wait for the command."""
    for _ in range(60):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.5)
            return
    process.kill()


def test_it_names_the_daemon_its_workers_and_what_they_run(tmp_path: Path) -> None:
    desk = Desk(tmp_path, TOML)
    job = desk.enqueue("slow")

    def status() -> Any:
        return desk.good("status", "--json").json

    with subprocess.Popen(
        [SQLQD, "run"], env=desk.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            document = eventually(
                status, lambda seen: len(seen["workers"]) == 2 and seen["queues"][0]["running"] == 1
            )
            daemon = document["daemon"]
            assert (daemon["running"], daemon["pid"], daemon["workers"]) == (True, process.pid, 2)
            assert (daemon["config"], daemon["database"]) == (str(desk.config), str(desk.database))
            assert daemon["loaded_at"] <= time.time()
            (busy,) = [worker for worker in document["workers"] if worker["job_id"] is not None]
            assert " running " in desk.good("list").out
            assert "attempt 1: runs for " in desk.good("show", job).out
            assert (busy["job_id"], busy["queue"]) == (job, "slow")
            assert busy["running_seconds"] >= 0
            os.kill(busy["pid"], 0)
            text = desk.good("status").out
            assert f"pid {process.pid}" in text
            assert job[:12] in text
            assert max(map(len, text.split("\n\n", 1)[1].splitlines())) <= 80
            assert desk.jobs()[0]["state"] == "running"
        finally:
            stop(process)
    assert process.returncode == 0
    document = status()
    assert (document["daemon"]["running"], document["workers"]) == (False, [])
    assert desk.jobs()[0]["state"] == "ready"
    assert desk.jobs()[0]["attempts"] == 0


def test_nobody_is_told_to_reload_a_daemon_of_a_terminal_by_what_stops_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path, TOML)
    reading, writing = pty.openpty()
    with subprocess.Popen(
        [SQLQD, "run"],
        env=desk.environment(),
        stdin=writing,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            eventually(lambda: desk.run("health").code, lambda code: code == 0)
            os.utime(desk.config, (time.time() + 60,) * 2)
            told = desk.run("health").out
        finally:
            stop(process)
            os.close(reading)
            os.close(writing)
    assert "was changed and not loaded since" in told
    assert "Ctrl-C" in told
    assert "kill -HUP" not in told
