"""What counts as nobody's: by the marks of a lease, and never a neighbour that only looks like it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from sqlqd import proc
from sqlqd.clock import SystemClock
from sqlqd.model import Lease
from sqlqd.relics import Relics
from tests.support.daemon import alive, until

UID, JOB = "0123456789abcdef", "f" * 32
NAMED = """
import os, signal, sys
from sqlqd import proc
held = os.open(sys.argv[2], os.O_RDONLY)
proc.call_myself(sys.argv[1])
sys.stdout.write("on\\n"); sys.stdout.flush()
signal.pause()
"""


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def command(stack: ExitStack, uid: str = UID, job: str = JOB) -> int:
    env = {"SQLQD_JOB_ID": job, "SQLQD_WORKER": uid}
    return started(stack, ["/bin/sleep", "1000"], env=env).pid


def child(stack: ExitStack, file: Path, name: str = proc.child_name(UID)) -> int:
    words = [sys.executable, "-c", NAMED, name, str(file)]
    process = started(stack, words, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    assert process.stdout is not None
    assert process.stdout.readline() == b"on\n"
    return process.pid


def started(stack: ExitStack, words: list[str], **how: Any) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(words, **how)
    stack.callback(process.communicate)
    stack.callback(process.kill)
    return process


def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", "it stands")


def lease(pid: int = 1, *, uid: str = UID, job: str = JOB) -> Lease:
    return Lease(job, f"{uid}/3/{pid}/{'a' * 32}")


def ended(leases: list[Lease]) -> None:
    relics = Relics(SystemClock())
    until(lambda: relics.end_of_leases(leases), "all of it is gone")


def test_what_runs_for_a_lease_that_is_over_is_ended_and_nothing_else(
    stack: ExitStack, tmp_path: Path
) -> None:
    ours = command(stack)
    others = [
        command(stack, job="e" * 32),
        command(stack, uid="f" * 16),
        child(stack, Path("/dev/null")),
        started(stack, ["/bin/sleep", "1000"], env={}).pid,
    ]
    ended([lease(others[2]), Lease(JOB, "another program's"), Lease(JOB, "")])
    assert not alive(ours)
    assert all(alive(pid) for pid in others)


def test_a_worker_is_ended_only_where_it_is_stopped_and_bears_its_name(stack: ExitStack) -> None:
    worker, other = child(stack, Path("/dev/null")), child(stack, Path("/dev/null"), "sqlqd-ffffffffff")
    stop(other)
    ended([lease(worker), lease(other)])
    assert alive(worker)
    assert alive(other)
    stop(worker)
    ended([lease(worker)])
    assert not alive(worker)
    assert alive(other)


def test_a_daemon_that_starts_ends_what_stands_on_its_own_file_alone(
    stack: ExitStack, tmp_path: Path
) -> None:
    mine, strange = tmp_path / "queue.db", tmp_path / "other.db"
    mine.touch()
    strange.touch()
    standing, elsewhere = child(stack, mine), child(stack, strange, "sqlqd-eeeeeeeee")
    application = child(stack, mine, "python3")
    for pid in (standing, elsewhere, application):
        stop(pid)
    orphan, kept = command(stack), command(stack, uid="f" * 16)
    worker = child(stack, mine, proc.child_name("f" * 16))
    held = [lease(4_000_000), lease(worker, uid="f" * 16)]
    Relics(SystemClock()).end_of_dead_daemons(mine, held, living=())
    assert not alive(standing)
    assert not alive(orphan)
    assert all(alive(pid) for pid in (elsewhere, application, worker, kept))


def test_a_worker_in_a_container_is_known_whatever_its_number_there(stack: ExitStack, tmp_path: Path) -> None:
    file = tmp_path / "queue.db"
    file.touch()
    child(stack, file)
    its = command(stack)
    Relics(SystemClock()).end_of_dead_daemons(file, [lease(4)], living=[4])
    assert alive(its)


def test_the_children_of_a_living_daemon_are_its_own_to_end(stack: ExitStack, tmp_path: Path) -> None:
    file = tmp_path / "queue.db"
    file.touch()
    worker, its = child(stack, file), command(stack)
    stop(worker)
    Relics(SystemClock()).end_of_dead_daemons(file, [lease(worker)], living=[os.getpid()])
    assert alive(worker)
    assert alive(its)


def test_each_is_told_of_once(stack: ExitStack) -> None:
    told: list[str] = []
    relics = Relics(SystemClock(), lambda members: told.extend(one.name for one in members))
    command(stack)
    until(lambda: relics.end_of_leases([lease()]), "it is gone")
    assert told == ["sleep"]
