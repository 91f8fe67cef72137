"""No connection crosses a fork: not at the start, not when a worker is replaced under load."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.daemon import Daemon, alive, until

QUEUES = '[queues.noop]\ncommand = ":"\nmax_crashes = 1000\nbackoff = { initial = "0s", jitter = 0.0 }\n'

PROGRAM = """
import os, sys
from pathlib import Path
from sqlqd import cli
from sqlqd.cli import daemon

def told(real):
    def child(seat, **how):
        links = []
        for name in os.listdir("/proc/self/fd"):
            try:
                links.append(os.readlink(f"/proc/self/fd/{name}"))
            except OSError:
                continue
        Path(sys.argv[2]).with_name(f"{seat.role.value}-{seat.number}.fds").write_text("\\n".join(links))
        return real(seat, **how)
    return child

daemon.work, daemon.steward = told(daemon.work), told(daemon.steward)
cli.main()
"""


def open_files(pid: int) -> list[str]:
    found = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(str(link.readlink()))
        except OSError:
            continue
    return found


def kill_and_look(daemon: Daemon, slot: int) -> None:
    pid = daemon.worker_pids[slot]
    os.kill(pid, signal.SIGKILL)
    until(lambda: daemon.worker_pids[slot] != pid, "its replacement")
    # The parent has the file of locks beside the database, and nothing else of it.
    ours = [name for name in open_files(daemon.pid) if name.startswith(str(daemon.database))]
    assert ours == [f"{daemon.database}.lock"]


@pytest.mark.case("C03")
def test_no_process_begins_with_the_database_open(tmp_path: Path) -> None:
    arguments = ("-c", str(tmp_path / "sqlqd.toml"), "run")
    with Daemon(tmp_path, QUEUES, workers=4, command=(sys.executable, "-c", PROGRAM, *arguments)) as daemon:
        daemon.start()
        feeder = subprocess.Popen(
            ["sqlite3", "-cmd", ".timeout 10000", str(daemon.database)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        feed = "".join(f"INSERT INTO jobs (queue, payload) VALUES ('noop', '{n}');\n" for n in range(1000))
        for slot in (1, 2, 3, 4, 1, 2):
            assert feeder.stdin is not None
            feeder.stdin.write(feed[: len(feed) // 6])
            feeder.stdin.flush()
            kill_and_look(daemon, slot)
        feeder.communicate(timeout=30)
        until(lambda: daemon.sql("SELECT count(*) FROM jobs") == "0", "every job ran")
        told = list(tmp_path.glob("*.fds"))
        assert len(told) >= 11
        for report in told:
            inherited = [
                name for name in report.read_text().splitlines() if name.startswith(str(daemon.database))
            ]
            assert inherited == [], report.name
        workers = daemon.worker_pids.values()
        assert all(alive(pid) and str(daemon.database) in open_files(pid) for pid in workers)
        assert daemon.stop() == 0
        assert daemon.sql("PRAGMA integrity_check") == "ok"
