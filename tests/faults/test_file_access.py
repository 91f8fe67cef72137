"""While a process has the database open it opens its files in no other way, and forks with none open."""

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.support.daemon import SQLQD, Daemon, until
from tests.support.sql import python, run

QUEUES = """
[queues.noop]
command = "echo ran"
max_crashes = 100
backoff = { initial = "0s", jitter = 0.0 }
[queues.bad]
command = "exit 3"
max_attempts = 1
"""

HOOK = """
import os, sys
import apsw

def watch(folder, report):
    def note(what):
        descriptor = os.open(report, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, f"{os.getpid()} {what}\\n".encode())
        os.close(descriptor)

    files = {os.path.join(folder, "queue.db" + end) for end in ("", "-wal", "-shm", "-journal")}
    descriptors = {"/proc/self/fd", "/dev/fd", f"/proc/{os.getpid()}/fd"}

    def hook(event, arguments):
        if event in ("open", "os.remove", "os.rename", "os.truncate", "shutil.copyfile"):
            if not isinstance(arguments[0], (str, bytes)) or not apsw.connections():
                return
            path = os.fsdecode(arguments[0])
            if os.path.realpath(path) in files or os.path.dirname(path) in descriptors:
                note(f"{event} {path}")
        elif event in ("os.fork", "os.forkpty") and apsw.connections():
            note(event)

    sys.addaudithook(hook)
"""

WATCHED = (
    HOOK
    + """
watch(sys.argv.pop(1), sys.argv.pop(1))
sys.argv[0] = "sqlqd"
from sqlqd.cli import main
main()
"""
)

PLANTED = (
    HOOK
    + """
from sqlqd.clock import SystemClock
from sqlqd.store.sqlite import open_store
from pathlib import Path
folder, report = sys.argv[1:]
watch(folder, report)
store = open_store(Path(folder, "queue.db"), SystemClock(), create=True)
open(os.path.join(folder, "queue.db"), "rb").close()
if os.fork() == 0:
    os._exit(0)
os.wait()
"""
)

VERBS = (
    *(("status",), ("status", "--json"), ("list",), ("list", "noop"), ("check",), ("schema",)),
    *(("enqueue", "noop", "x", "--delay", "1h", "--key", "k"), ("enqueue", "noop", "y", "--key", "k")),
    *(
        ("list", "--state", "done"),
        ("retry", "--queue", "bad"),
        ("cancel", "--key", "k"),
        ("purge", "--queue", "bad"),
    ),
)


def watched(folder: Path) -> tuple[str, ...]:
    return (sys.executable, "-c", WATCHED, str(folder), str(folder / "report"))


def work(daemon: Daemon) -> None:
    """A bit of everything that touches the file."""
    done = daemon.insert("noop")
    dead = daemon.insert("bad")
    daemon.event("job.finished", job_id=done)
    daemon.event("job.dead", job_id=dead)


def test_a_hook_sees_what_must_not_happen(tmp_path: Path) -> None:
    python(PLANTED, str(tmp_path), str(tmp_path / "report"))
    told = [line.split()[1] for line in (tmp_path / "report").read_text().splitlines()]
    assert told == ["open", "os.fork"]


def test_the_daemon_and_the_verbs_keep_away_from_open_files(tmp_path: Path) -> None:
    config = str(tmp_path / "sqlqd.toml")
    with Daemon(tmp_path, QUEUES, command=(*watched(tmp_path), "-c", config, "run")) as daemon:
        daemon.start()
        work(daemon)
        for slot in (1, 2):
            pid = daemon.worker_pids[slot]
            run(["kill", "-KILL", str(pid)])
            until(lambda slot=slot, pid=pid: daemon.worker_pids[slot] != pid, "its replacement")  # type: ignore[misc]  # bound at once
        steward = daemon.steward_pid
        run(["kill", "-KILL", str(steward)])
        until(lambda: daemon.steward_pid != steward, "another steward")
        for verb in VERBS:
            ran = run([*watched(tmp_path), "-c", config, *verb], check=False)
            assert ran.returncode == 0, (verb, ran.stderr)
        run([*watched(tmp_path), "-c", config, "enqueue", "noop", "z"])
        work(daemon)
        assert daemon.stop() == 0
    report = tmp_path / "report"
    assert not report.exists(), report.read_text()


_OPENED = re.compile(r'^(?:open|openat|openat2|creat)\(.*?"([^"]*/queue\.db[^"]*)".* = (\d+)')
_CLOSED = re.compile(r"^close\((\d+)\)")
_FORKED = re.compile(r"^(?:fork|clone|clone3)\((?!.*CLONE_VFORK).* = \d+$")


def traceable() -> bool:
    strace = shutil.which("strace")
    if strace is None:
        return False
    return (
        subprocess.run([strace, "-o", "/dev/null", "true"], check=False, capture_output=True).returncode == 0
    )


@pytest.mark.skipif(not traceable(), reason="strace is not to be had, or may not trace here")
def test_the_system_sees_one_open_a_process_and_no_close_beside_it(tmp_path: Path) -> None:
    calls = "trace=open,openat,openat2,creat,close,fork,vfork,clone,clone3"
    tracer = ("strace", "-ff", "-qq", "--seccomp-bpf", "-s", "300", "-e", calls, "-e", "signal=none")
    command = (*tracer, "-o", str(tmp_path / "trace"), *SQLQD, "-c", str(tmp_path / "sqlqd.toml"), "run")
    with Daemon(tmp_path, QUEUES, command=command) as daemon:
        daemon.start()
        work(daemon)
        children = {*daemon.worker_pids.values(), daemon.steward_pid}
        parent = int(daemon.sql("SELECT pid FROM sqlqd_daemons"))
        run(["kill", "-TERM", str(parent)])
        assert daemon.ended() == 0
    opened = {
        int(trace.suffix[1:]): follow(trace.read_text(errors="replace"), daemon.database)
        for trace in tmp_path.glob("trace.*")
    }
    for pid in children:
        assert opened[pid] == {"": 1, "-wal": 1, "-shm": 1}
    assert opened[parent] == {}


def follow(trace: str, database: Path) -> Counter[str]:
    """How often one process opened each of the files; that it never closed one beside another, nor forked."""
    held: dict[int, str] = {}
    opened: Counter[str] = Counter()
    for line in trace.splitlines():
        if match := _OPENED.match(line):
            end = match[1].removeprefix(str(database))
            if end in ("", "-wal", "-shm"):
                held[int(match[2])] = end
                opened[end] += 1
        elif match := _CLOSED.match(line):
            closed = held.pop(int(match[1]), None)
            # There are no locks on the log: a start may write it once more.
            beside = closed in held.values() and closed != "-wal"
            assert closed is None or not beside, f"{line}: closed beside an open one"
        elif _FORKED.match(line):
            assert held == {}, f"{line}: forked with {held} open"
    return opened
