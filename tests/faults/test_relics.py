"""What is left of a daemon that was stopped or killed as a whole is ended before its job runs again."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon import Daemon, alive, children, until

ROOT = Path(__file__).parents[2]

# Says so when an earlier execution of it still lives; then goes on for ever, with another in its own session.
COMMAND = """
for p in $(cat pids); do
    case $(cut -d' ' -f3 /proc/$p/stat 2>/dev/null) in ''|Z|X) ;; *) echo $p >> twice;; esac
done
setsid sleep 1001 & echo $! >> pids
echo $$ >> pids
exec sleep 1000
"""
QUEUES = f"""
[queues.long]
command = '''{COMMAND}'''
cwd = "."
lease = "3s"
kill_grace = "1s"
backoff = {{ initial = "0s" }}
max_crashes = 100
"""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    (tmp_path / "pids").touch()
    with Daemon(tmp_path, QUEUES) as made:
        made.start()
        yield made
    for pid in pids(tmp_path):
        if alive(pid):
            os.kill(pid, signal.SIGKILL)


def pids(home: Path) -> list[int]:
    return [int(line) for line in (home / "pids").read_text().split()]


def begun(daemon: Daemon) -> tuple[str, int, list[int]]:
    """A job that runs: its id, its worker, its processes."""
    job = daemon.insert("long")
    started = daemon.event("job.started", job_id=job)
    found = until(lambda: len(both := pids(daemon.home)) == 2 and both, "what the command starts")
    return job, int(daemon.worker_pids[started["worker"]]), found


def runs_again(daemon: Daemon, job: str, old: list[int]) -> None:
    """A second execution begins, and by then nothing of the first is left."""
    until(lambda: len(pids(daemon.home)) == 4, "it runs again")
    assert not (daemon.home / "twice").exists()
    assert not any(alive(pid) for pid in old)
    assert len(daemon.events("job.started", job_id=job)) == 2


def family(daemon: Daemon) -> list[int]:
    return [daemon.pid, *children(daemon.pid)]


def send(number: signal.Signals, *targets: int) -> None:
    for pid in targets:
        os.kill(pid, number)


@pytest.mark.parametrize("stopped", ["worker", "both"])
def test_a_worker_stopped_before_its_parent_died_is_ended_by_the_next_daemon(
    daemon: Daemon, stopped: str
) -> None:
    job, worker, old = begun(daemon)
    send(signal.SIGSTOP, worker, *(old if stopped == "both" else []))
    daemon.signal(signal.SIGKILL)
    daemon.start()
    assert not any(alive(pid) for pid in [worker, *old])
    assert daemon.event("relics.ended")["count"] == 3
    runs_again(daemon, job, old)


def test_commands_whose_daemon_was_killed_as_a_whole_are_ended_by_the_next(daemon: Daemon) -> None:
    job, _, old = begun(daemon)
    send(signal.SIGKILL, *family(daemon))
    assert all(alive(pid) for pid in old)
    daemon.start()
    assert not any(alive(pid) for pid in old)
    runs_again(daemon, job, old)


def test_another_daemon_ends_them_before_it_gives_their_job_out(daemon: Daemon) -> None:
    home = daemon.home / "other"
    home.mkdir()
    with Daemon(home, QUEUES.replace('cwd = "."', 'cwd = ".."')) as other:
        other.config.write_text(other.config.read_text().replace('"queue.db"', f'"{daemon.database}"'))
        job, _, old = begun(daemon)
        other.start()
        send(signal.SIGKILL, *family(daemon))
        other.event("job.started", job_id=job)
        until(lambda: len(pids(daemon.home)) == 4, "it runs again")
        assert not (daemon.home / "twice").exists()
        assert not any(alive(pid) for pid in old)


def test_a_stopped_parent_and_its_stopped_worker_do_not_lead_to_two_executions(daemon: Daemon) -> None:
    job, worker, old = begun(daemon)
    send(signal.SIGSTOP, daemon.pid, worker)
    runs_again(daemon, job, old)
    send(signal.SIGCONT, daemon.pid)
    daemon.event("worker.stuck")
    assert daemon.running


def test_a_stopped_worker_that_has_the_lock_does_not_keep_the_next_daemon_from_its_work(
    tmp_path: Path,
) -> None:
    queues = '[queues.noop]\ncommand = ":"\nlease = "2s"\n'
    env = {"SQLQD_FAULT": "store.before_commit=stop@3"}
    with Daemon(tmp_path, queues, env=env, workers=1) as one, Daemon(tmp_path, queues, workers=1) as two:
        jobs = [one.sqlqd("enqueue", "noop").stdout.strip() for _ in range(5)]
        one.start(ready=False)
        until(lambda: stopped(children(one.pid)), "one of its processes stops with the lock")
        one.signal(signal.SIGKILL)
        one.ended()
        two.start()
        until(lambda: {record["job_id"] for record in two.events("job.finished")} == set(jobs), "all run")


def stopped(among: list[int]) -> list[int]:
    return [
        pid for pid in among if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    ]


def test_a_program_that_consumes_ends_them_too(daemon: Daemon) -> None:
    _, _, old = begun(daemon)
    send(signal.SIGKILL, *family(daemon))
    script = """
import sqlqd, sys, time
with sqlqd.connect(sys.argv[1]) as queue:
    while queue.claim("long") is None:
        time.sleep(0.05)
"""
    command = [sys.executable, "-c", script, str(daemon.database)]
    done = subprocess.run(command, cwd=ROOT, timeout=20, check=True, capture_output=True)
    assert not any(alive(pid) for pid in old)
    assert done.stderr == b""
