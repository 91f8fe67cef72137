"""A timeout ends the work and not only the shell; what a command that succeeds leaves behind is ended too."""

import sys
from pathlib import Path

import pytest

from tests.support.daemon import Daemon, alive, until

DEAF = "import os,signal,time; signal.signal(15, 1); print(os.getpid(), flush=True); time.sleep(300)"
WAITS = {
    "shell": f"{sys.executable} -c '{DEAF}' >> pids & wait",
    "session": f"setsid {sys.executable} -c '{DEAF}' >> pids & wait",
    "nohup": f"nohup {sys.executable} -c '{DEAF}' >> pids 2> /dev/null & wait",
    "twice": f"(setsid sh -c \\\"{sys.executable} -c '{DEAF}' >> pids & exit 0\\\" &) ; sleep 300",
    "stopped": "echo $$ >> pids; kill -STOP $$",
}
LEAVES = {name: command.replace("& wait", "& :").replace("sleep 300", ":") for name, command in WAITS.items()}
LEAVES.pop("stopped")
WRITTEN = "; until [ -s pids ]; do sleep 0.01; done; exit 0"


def queues(commands: dict[str, str], end: str = "") -> str:
    text = "[defaults]\ncwd = '.'\ntimeout = '2s'\nkill_grace = '500ms'\nmax_attempts = 1\n"
    return text + "".join(f'[queues.{name}]\ncommand = "{line}{end}"\n' for name, line in commands.items())


def pids(daemon: Daemon) -> list[int]:
    file = daemon.home / "pids"
    until(lambda: file.exists() and file.read_text(), "its number")
    return [int(line) for line in file.read_text().split()]


@pytest.mark.case("C21")
@pytest.mark.parametrize("name", WAITS)
def test_nothing_is_left_when_its_time_is_over(tmp_path: Path, name: str) -> None:
    with Daemon(tmp_path, queues(WAITS), workers=1) as daemon:
        daemon.start()
        job = daemon.insert(name)
        (pid,) = pids(daemon)
        assert alive(pid)
        dead = daemon.event("job.dead", job_id=job)
        assert dead["reason"] == "timeout after 2 s"
        assert not alive(pid)


@pytest.mark.case("C21")
@pytest.mark.parametrize("name", LEAVES)
def test_a_command_that_succeeds_has_succeeded_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    with Daemon(tmp_path, queues(LEAVES, WRITTEN), workers=1) as daemon:
        daemon.start()
        job = daemon.insert(name)
        assert daemon.event("job.finished", job_id=job)["exit_code"] == 0
        (pid,) = pids(daemon)
        assert not alive(pid)
        assert not daemon.events("job.timeout")
