"""A steward's chores on a real database, with a clock of the test's own."""

import os
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sqlqd.board import Board, Cell
from sqlqd.model import Holder, NewJob, Rules
from sqlqd.presence import Presence
from sqlqd.seat import Role, Seat
from sqlqd.steward.chores import CHECKPOINT_AFTER, Chores
from sqlqd.store.sqlite import SqliteStore, open_store

RULES = Rules("noop", lease=30.0)
HOLDER = Holder("0123456789abcdef", 1, 42)


@dataclass
class Clock:
    now: float = 1000.0

    def wall(self) -> float:
        return 1_700_000_000.0 + self.now

    def awake(self) -> float:
        return self.now

    def boot(self) -> str:
        return "this one"


@dataclass
class Bench:
    path: Path
    clock: Clock = field(default_factory=Clock)
    board: Board = field(default_factory=lambda: Board(3))

    def __post_init__(self) -> None:
        self.store: SqliteStore = open_store(self.path, self.clock, busy_timeout=0.05, create=True)
        self.presence = Presence(self.path)
        seat = Seat(Role.STEWARD, 0, 1, "u", (), os.getpid(), -1, -1, (), self.board)
        self.chores = Chores(seat, self.store, self.presence, [RULES], clock=self.clock, rng=random.Random(1))

    def go_on(self, seconds: float) -> None:
        """Do what is due for so long, as a loop would."""
        end = self.clock.now + seconds
        while (due := self.chores.tick(self.clock.now)) <= end:
            self.clock.now = max(due, self.clock.now + 0.001)
        self.clock.now = end


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "queue.db")
    yield made
    made.presence.close()
    made.store.close()


def claimed(bench: Bench) -> None:
    bench.store.enqueue([NewJob("noop")])
    assert bench.store.claim(HOLDER, [RULES]).claim is not None
    bench.chores.committed(bench.clock.now)


def is_claimable(bench: Bench) -> bool:
    return bench.store.outlook([RULES], limit=1).due == 1


def test_a_lease_that_is_over_is_ended_within_a_second(bench: Bench) -> None:
    claimed(bench)
    bench.go_on(29.5)
    assert not is_claimable(bench)
    bench.go_on(1.5)
    assert is_claimable(bench)


def test_after_writes_that_failed_holders_have_the_first_word(bench: Bench) -> None:
    claimed(bench)
    bench.go_on(25.0)
    holder = subprocess.Popen(
        ["sqlite3", str(bench.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    holder.stdin.write("BEGIN IMMEDIATE; SELECT 1;\n")
    holder.stdin.flush()
    assert holder.stdout.readline() == "1\n"
    bench.go_on(10.0)
    holder.communicate("ROLLBACK;\n", timeout=30)
    bench.go_on(RULES.lease / 3.0 - 1.0)
    assert not is_claimable(bench)
    bench.go_on(15.0)
    assert is_claimable(bench)


def test_a_commit_is_followed_by_a_checkpoint(bench: Bench) -> None:
    bench.go_on(1.0)
    before = bench.path.stat().st_size
    bench.store.enqueue([NewJob("noop", "x" * 50_000)])
    assert bench.path.stat().st_size == before
    bench.chores.committed(bench.clock.now)
    bench.go_on(CHECKPOINT_AFTER + 0.01)
    assert bench.path.stat().st_size > before


def test_one_that_is_not_elected_leaves_the_file_alone(bench: Bench) -> None:
    ready, go = os.pipe(), os.pipe()
    other = os.fork()
    if other == 0:
        Presence(bench.path).elect()
        os.write(ready[1], b"x")
        os.read(go[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    claimed(bench)
    bench.go_on(60.0)
    assert not is_claimable(bench)
    os.write(go[1], b"x")
    os.waitpid(other, 0)
    bench.go_on(7.0)
    assert is_claimable(bench)
    for descriptor in (*ready, *go):
        os.close(descriptor)


def test_the_counts_are_stamped_and_jobs_that_wait_in_vain_are_said_once(
    bench: Bench, capfd: pytest.CaptureFixture[str]
) -> None:
    bench.store.enqueue([NewJob("noop"), NewJob("noop"), NewJob("nobody"), NewJob("nobody")])
    bench.chores.committed(bench.clock.now)
    bench.go_on(10.0)
    bench.chores.committed(bench.clock.now)
    bench.go_on(10.0)
    assert bench.board.get(0, Cell.READY) == 2
    assert bench.board.get(0, Cell.DEAD) == 0
    assert capfd.readouterr().err.count("queue.unknown") == 1


def test_with_nothing_to_do_it_is_not_due_for_seconds(bench: Bench) -> None:
    bench.go_on(10.0)
    wakings = 0
    end = bench.clock.now + 60.0
    while (due := bench.chores.tick(bench.clock.now)) < end:
        bench.clock.now = due
        wakings += 1
    assert wakings <= 15


def test_a_holder_that_is_recording_the_end_of_its_job_has_the_first_word(bench: Bench) -> None:
    claimed(bench)
    bench.board.put(HOLDER.slot, Cell.BUSY, 1)
    for _ in range(40):
        bench.board.put_time(HOLDER.slot, Cell.BEAT, bench.clock.now)
        bench.go_on(1.0)
    assert not is_claimable(bench)
    # It stands still: then nothing will be recorded.
    bench.go_on(20.0)
    assert is_claimable(bench)


def test_a_file_of_locks_that_cannot_be_used_keeps_no_lease_from_its_end(bench: Bench) -> None:
    lock = bench.path.with_name(f"{bench.path.name}.lock")
    lock.unlink(missing_ok=True)
    lock.mkdir()
    claimed(bench)
    bench.go_on(31.5)
    assert is_claimable(bench)
