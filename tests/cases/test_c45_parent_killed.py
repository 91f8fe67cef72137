"""The parent is killed: its workers and their commands are gone at once, and a new daemon goes on."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.daemon import SQLQD, Daemon, alive, children, until

QUEUES = """
[queues.sleep]
command = "setsid sleep 1000 & exec sleep 60"
kill_grace = "1s"
"""

UNDER_A_SUBREAPER = """
import subprocess, sys, time
from sqlqd import tree
tree.become_subreaper()
status = subprocess.run(sys.argv[1:]).returncode
time.sleep(2)
sys.exit(status)
"""


def offspring(pid: int) -> list[int]:
    return [one for child in children(pid) for one in (child, *offspring(child))]


def kill_and_start_again(daemon: Daemon, parent: int) -> None:
    job = daemon.insert("sleep")
    first = daemon.event("job.started", job_id=job)
    below = until(lambda: len(found := offspring(parent)) >= 5 and found, "the command's processes")
    os.kill(parent, signal.SIGKILL)
    until(lambda: not any(alive(pid) for pid in below), "nothing of it is left", patience=5)
    daemon.start()
    again = daemon.event("job.started", job_id=job, attempt=1)
    assert again == first
    until(lambda: len(daemon.events("job.started", job_id=job)) == 2, "it runs again")
    assert daemon.events("job.released", job_id=job)


@pytest.mark.case("C45")
def test_while_a_command_runs(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES) as daemon:
        kill_and_start_again(daemon.start(), daemon.pid)


@pytest.mark.case("C45")
def test_where_orphans_do_not_go_to_process_1(tmp_path: Path) -> None:
    command = (sys.executable, "-c", UNDER_A_SUBREAPER, *SQLQD, "-c", str(tmp_path / "sqlqd.toml"), "run")
    with Daemon(tmp_path, QUEUES, command=command) as daemon:
        daemon.start()
        kill_and_start_again(daemon, children(daemon.pid)[0])
        below = offspring(daemon.pid)
        os.kill(below[0], signal.SIGKILL)
        daemon.ended()
        until(lambda: not any(alive(pid) for pid in below), "nothing of it is left", patience=5)


@pytest.mark.case("C45")
def test_while_it_is_idle(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES) as daemon:
        daemon.start()
        below = children(daemon.pid)
        assert len(below) == 3
        daemon.signal(signal.SIGKILL)
        until(lambda: not any(alive(pid) for pid in below), "they leave", patience=5)
        daemon.start()
        assert daemon.stop() == 0
        assert daemon.sql("SELECT count(*) FROM sqlqd_workers") == "0"


CONTAINER = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc")


def contained() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*CONTAINER, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.case("C45")
@pytest.mark.skipif(not contained(), reason="needs the right to make a process namespace")
def test_as_process_1_of_a_container(tmp_path: Path) -> None:
    command = (*CONTAINER, *SQLQD, "-c", str(tmp_path / "sqlqd.toml"), "run")
    queues = QUEUES + '[queues.quick]\ncommand = "(setsid sleep 300 &) ; exit 0"\n'
    with Daemon(
        tmp_path, queues.replace("[queues.sleep]", '[queues.sleep]\nlease = "2s"'), command=command
    ) as daemon:
        daemon.start()
        (parent,) = children(daemon.pid)
        daemon.event("job.finished", job_id=daemon.insert("quick"))
        job = daemon.insert("sleep")
        daemon.event("job.started", job_id=job)
        below = until(lambda: len(found := offspring(parent)) >= 5 and found, "the command's processes")
        os.kill(parent, signal.SIGKILL)
        daemon.ended()
        until(lambda: not any(alive(pid) for pid in below), "nothing of it is left", patience=5)
        daemon.start()
        until(lambda: len(daemon.events("job.started", job_id=job)) == 2, "it runs again")
        assert daemon.sql("SELECT count(*), count(DISTINCT daemon_pid) FROM sqlqd_workers") == "2|1"
        os.kill(children(daemon.pid)[0], signal.SIGQUIT)
        daemon.ended()
