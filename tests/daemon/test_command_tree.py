"""A job's whole tree ends with it, whatever it is made of; and nothing else does."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.lone_worker import ROOT, LoneWorker, alive, until

DOUBLE = (
    "import os,sys,time\\n"
    "if os.fork(): sys.exit(0)\\n"
    "os.setsid()\\n"
    "if os.fork(): sys.exit(0)\\n"
    "open('stray', 'w').write(str(os.getpid()) + chr(10))\\n"
    "time.sleep(300)"
)
THREAD = (
    "import ctypes,os,threading,time\\n"
    "def run():\\n"
    "    open('stray', 'w').write(str(os.getpid()) + chr(10))\\n"
    "    time.sleep(300)\\n"
    "threading.Thread(target=run).start()\\n"
    "ctypes.CDLL(None).pthread_exit(None)"
)
WRITTEN = "until [ -s stray ]; do sleep 0.01; done"
LEFT_BEHIND = {
    "background": "sleep 300 & echo $! > stray",
    "session": f"setsid sh -c 'echo $$ > stray; exec sleep 300' & {WRITTEN}",
    "nohup": "nohup sleep 300 >/dev/null 2>&1 & echo $! > stray",
    "deaf": (
        f"(trap '' TERM HUP INT; echo $(sh -c 'echo $PPID') > stray; while :; do sleep 0.1; done) & {WRITTEN}"
    ),
    "stopped": "sleep 300 & echo $! > stray; kill -STOP $!",
    "twice-forked": f'''{sys.executable} -c "$(printf "{DOUBLE}")"; {WRITTEN}''',
    "threads": f'''{sys.executable} -c "$(printf "{THREAD}")" & {WRITTEN}''',
}


def queues(extra: str = "", end: str = "exit 0") -> str:
    text = f"[defaults]\ncwd = '.'\nkill_grace = '300ms'\n{extra}\n"
    for name, command in LEFT_BEHIND.items():
        script = f"{command}; {end}".replace("\\", "\\\\").replace('"', '\\"')
        text += f'[queues.{name}]\ncommand = "{script}"\n'
    return text


def stray(directory: Path) -> int:
    return int(until(lambda: (directory / "stray").exists() and (directory / "stray").read_text().strip()))


@pytest.mark.parametrize("name", LEFT_BEHIND)
def test_what_is_left_running_is_ended_and_the_job_has_its_own_end(tmp_path: Path, name: str) -> None:
    with LoneWorker(tmp_path, queues()) as worker:
        job = worker.add(name)
        assert worker.ended(job)["event"] == "job.finished"
        assert not alive(stray(tmp_path))
        assert worker.record(job).state.value == "done"


@pytest.mark.parametrize("name", LEFT_BEHIND)
def test_a_timeout_ends_all_of_it(tmp_path: Path, name: str) -> None:
    with LoneWorker(tmp_path, queues("timeout = '1s'", end="sleep 301")) as worker:
        job = worker.add(name)
        assert worker.ended(job)["reason"] == "timeout after 1 s"
        assert not alive(stray(tmp_path))
        assert worker.events("job.timeout", job)


def test_a_stray_that_holds_the_pipes_does_not_hold_up_the_job(tmp_path: Path) -> None:
    text = "[queues.holds]\ncommand = 'echo first; setsid sleep 300 & exit 0'\n"
    with LoneWorker(tmp_path, text) as worker:
        job = worker.add("holds")
        # It would hold them for longer than anybody waits here.
        assert worker.ended(job)["event"] == "job.finished"
        assert worker.events("job.output", job)[0]["line"] == "first"


def test_a_stopped_command_hears_its_timeout(tmp_path: Path) -> None:
    text = """
[queues.stops]
command = "trap 'echo heard; exit 1' TERM; kill -STOP $$; sleep 300"
timeout = "300ms"
kill_grace = "30s"
"""
    with LoneWorker(tmp_path, text) as worker:
        job = worker.add("stops")
        assert worker.ended(job, 15.0)["reason"] == "timeout after 0.3 s"


def test_a_swarm_that_keeps_forking_is_ended(tmp_path: Path) -> None:
    text = """
[queues.swarm]
command = "f() { while :; do sleep 0.01 & wait; done; }; for i in 1 2 3 4 5 6 7 8; do f & done; wait"
timeout = "500ms"
kill_grace = "200ms"
"""
    with LoneWorker(tmp_path, text) as worker:
        job = worker.add("swarm")
        assert worker.ended(job)["reason"] == "timeout after 0.5 s"
        assert not worker.events("tree.remains")
        children = Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text()
        assert children == ""


def test_whatever_forks_while_it_is_ended_is_ended_too() -> None:
    words = [sys.executable, "-m", "tests.support.ending_race", "200", "1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=50.0, cwd=ROOT, check=True)
    assert done.stdout == "0\n"


def test_orphans_that_end_do_not_gather_while_the_command_goes_on(tmp_path: Path) -> None:
    text = '[queues.parent]\ncommand = "while :; do (sleep 0.01 &); sleep 0.01; done"\nlease = "2s"\n'
    with LoneWorker(tmp_path, text) as worker:
        worker.event("job.started", worker.add("parent"))
        most = [0]

        def fewer() -> bool:
            now = len(Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split())
            most[0] = max(most[0], now)
            return now < most[0] / 2 and most[0] > 10

        assert until(fewer)
