"""A real cgroup around real processes: who gets in, what is ended, what a job without one is held to."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlqd import tree
from sqlqd.cgroup import HOME, Domain, Leaf, Refused, read
from sqlqd.clock import SystemClock
from sqlqd.delegation import located, take
from sqlqd.model import State
from sqlqd.relics import Relics
from tests.support.booted import surroundings
from tests.support.daemon import until
from tests.support.lone_worker import ROOT, LoneWorker

ENDER = """
import sys
from pathlib import Path
from sqlqd import tree
from sqlqd.cgroup import Leaf
from sqlqd.clock import SystemClock
clock, leaf = SystemClock(), Leaf(Path(sys.argv[1]), Path(sys.argv[1]))
ending = tree.Ending(clock.awake(), grace=0.0, enclosure=leaf)
while not ending.step(clock.awake()):
    pass
sys.exit(bool(leaf.pids()))
"""
EATER = "import sys; x = bytearray(300_000_000); print('had', len(x))"


@pytest.fixture
def domain() -> Iterator[Domain]:
    """A cgroup that could be one of ours."""
    tree_of_all = surroundings().cgroups
    if tree_of_all is None or not os.access(tree_of_all / "cgroup.procs", os.W_OK):
        pytest.skip("this user may make no cgroup here")
    base = Path(tempfile.mkdtemp(prefix="sqlqd-cgroup-", dir=tree_of_all))
    try:
        yield Domain(base, frozenset())
    finally:
        whole = Leaf(base, base)
        whole.kill()
        until(lambda: not whole.pids(), "it is empty")
        assert whole.remove()


def sleeper(leaf: Leaf, *, inside: str = "cgroup.procs") -> "subprocess.Popen[bytes]":
    """A process that is in the cgroup."""
    process = subprocess.Popen(["sleep", "300"], start_new_session=True)
    (leaf.path / inside).write_text(str(process.pid))
    return process


def own() -> Path:
    found = located(read(Path("/proc/self/cgroup")), read(Path("/proc/self/mountinfo")))
    assert found is not None
    return found


def test_what_is_started_inside_is_there_from_its_birth_and_the_starter_is_back(domain: Domain) -> None:
    leaf, home = domain.leaf(1, "job"), own()
    at_home = Leaf(leaf.path, home)
    with at_home.entered():
        assert leaf.pids() == [os.getpid()]
        said = subprocess.run(["cat", "/proc/self/cgroup"], capture_output=True, text=True, check=True).stdout
    assert leaf.path.name in said
    assert own() == home
    assert leaf.usage().cpu is not None
    with pytest.raises(ZeroDivisionError), at_home.entered():
        raise ZeroDivisionError
    assert own() == home


def test_who_cannot_get_out_again_is_told_by_an_error_of_its_own(domain: Domain) -> None:
    leaf, home = domain.leaf(1, "job"), own()
    with pytest.raises(RuntimeError, match="cannot leave"), leaf.entered():
        pass
    (home / "cgroup.procs").write_text("0")
    leaf.remove()
    with pytest.raises(Refused, match="cannot enter"), leaf.entered():
        pass


def test_an_ending_reaches_what_is_inside_whoever_its_parent_is(domain: Domain) -> None:
    leaf = domain.leaf(1, "job")
    (leaf.path / "below").mkdir()
    strangers = [sleeper(leaf), sleeper(leaf, inside="below/cgroup.procs")]
    pids = {one.pid for one in strangers}
    # None of them is below that process: without the cgroup it would find nothing to end.
    ended = subprocess.run([sys.executable, "-c", ENDER, str(leaf.path)], cwd=ROOT, timeout=30, check=False)
    assert ended.returncode == 0
    assert {one.wait(10) for one in strangers} == {-signal.SIGKILL}
    assert not pids & set(leaf.pids())
    assert leaf.remove(), "and what the job made below it is taken away too"


def test_what_a_dead_daemon_left_is_ended_and_told_of(domain: Domain) -> None:
    left = [sleeper(domain.leaf(slot, "job")) for slot in (1, 2)]
    told: list[tree.Member] = []
    Relics(SystemClock(), told.extend).end_of_enclosure(domain.of_all())
    assert {one.pid for one in told} == {one.pid for one in left}
    assert {one.wait(10) for one in left} == {-signal.SIGKILL}
    assert domain.of_all().remove()
    assert not (domain.base / HOME).exists()


def test_a_cgroup_that_nobody_delegated_is_left_as_it_is() -> None:
    home = own()
    assert take() is None
    assert own() == home


@pytest.mark.parametrize(("limit", "status"), [("64M", 1), ("1G", 0)])
def test_without_a_cgroup_each_process_is_held_to_the_memory(tmp_path: Path, limit: str, status: int) -> None:
    command = f"command = ['/usr/bin/env', 'python3', '-c', '''{EATER}''']"
    with LoneWorker(
        tmp_path, f'[queues.eater]\n{command}\nmemory_max = "{limit}"\nmax_attempts = 1\n'
    ) as worker:
        ended = worker.ended(worker.add("eater"))
    assert ended["exit_code"] == status


def test_a_command_that_cannot_be_started_is_told_apart_with_a_limit_too(tmp_path: Path) -> None:
    queue = '[queues.gone]\ncommand = ["/nonexistent/program"]\nmemory_max = "64M"\n'
    with LoneWorker(tmp_path, queue) as worker:
        job = worker.add("gone")
        until(lambda: worker.events("queue.blocked"), "it is held")
        assert worker.record(job).state is State.READY
