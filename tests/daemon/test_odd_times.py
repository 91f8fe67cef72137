"""A wall clock in 1970 or 2038, or one that steps: jobs come when they are due, and nothing spins."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlqd import config
from sqlqd.board import Board, Cell
from sqlqd.model import Holder, NewJob
from sqlqd.presence import Presence
from sqlqd.seat import Role, Seat
from sqlqd.steward import Steward
from sqlqd.steward.wakeup import Attention
from sqlqd.store.base import Store
from sqlqd.store.sqlite import open_store
from sqlqd.worker import Worker
from tests.support.clocks import TwoHands
from tests.support.faked_runs import FakedCommands

QUEUES = '[daemon]\ndatabase = "queue.db"\nworkers = 1\n[queues.mail]\ncommand = "true"\nlease = "30s"\n'
# The kernel keeps the wall clock from being set to less than the time since boot.
TIMES = {"1970": 10_000.0, "2038": 2.0**31 - 30.0, "2106": 2.0**32 - 30.0}


class Machine:
    """One worker and one steward, stepped over one clock, and how often each had to look."""

    def __init__(self, folder: Path, wall: float) -> None:
        (folder / "c.toml").write_text(QUEUES)
        self.clock = TwoHands(wall=wall)
        self.path = folder / "queue.db"
        self.store = open_store(self.path, self.clock, create=True, migrate=True)
        self.commands = FakedCommands(self.clock)
        self.ticks = {"worker": 0, "steward": 0}
        loaded, board = config.load(folder / "c.toml"), Board()
        read, write = os.pipe2(os.O_NONBLOCK)
        self._pipes = (read, write)
        board.put_time(1, Cell.STARTED, self.clock.awake())
        self.worker = Worker(
            Seat(Role.WORKER, 1, 1, "ab" * 8, (), os.getpid(), -1, read, (), board),
            loaded,
            self._opened,
            self.commands,
            holder=Holder("ab" * 8, 1, 1),
            clock=self.clock,
            rng=random.Random(1),
        )
        self._presence = Presence(self.path)
        self.steward = Steward(
            Seat(Role.STEWARD, 0, 2, "cd" * 8, (), os.getpid(), -1, -1, (write,), board),
            loaded,
            self._opened,
            self._presence,
            Attention(self.path),
            clock=self.clock,
            rng=random.Random(2),
            started_at=wall,
        )

    def _opened(self, **_: object) -> Store:
        return open_store(self.path, self.clock)

    def close(self) -> None:
        self.steward.leave()
        self.worker.stop()
        self.worker.tick()
        self._presence.close()
        self.store.close()
        for end in self._pipes:
            os.close(end)

    def go_on(self, seconds: float) -> None:
        end = self.clock.awake() + seconds
        due = {"worker": 0.0, "steward": 0.0}
        while (now := self.clock.awake()) < end:
            for name, actor in (("worker", self.worker), ("steward", self.steward)):
                if due[name] <= now:
                    due[name] = actor.tick()
                    self.ticks[name] += 1
            self.clock.pass_by(max(min(*due.values(), end) - now, 0.001))

    def add(self, delay: float) -> None:
        self.store.enqueue([NewJob("mail", delay=delay)])


@pytest.fixture(params=TIMES)
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    made = Machine(tmp_path, TIMES[request.param])
    yield made
    made.close()


def test_a_job_comes_when_it_is_due_and_nothing_spins(machine: Machine) -> None:
    machine.add(delay=10.0)
    machine.go_on(9.0)
    assert machine.commands.runs == []
    machine.go_on(3.0)
    (run,) = machine.commands.runs
    machine.go_on(60.0)
    run.finish()
    machine.go_on(2.0)
    assert machine.store.overview(["mail"]).queues[0].running == 0
    # 74 seconds: renewals, looks of one's own, a look at the wall clock a second.
    assert machine.ticks["worker"] < 300
    assert machine.ticks["steward"] < 500


@pytest.mark.parametrize("step", [3600.0, -3600.0, 86_400.0 * 365])
def test_a_step_neither_ends_a_lease_nor_makes_anything_spin(machine: Machine, step: float) -> None:
    machine.add(delay=0.0)
    machine.go_on(2.0)
    (run,) = machine.commands.runs
    machine.add(delay=100.0)
    machine.clock.step_wall(step)
    machine.go_on(45.0)
    assert len(machine.commands.runs) == 1
    assert machine.store.overdue() == []
    run.finish()
    machine.go_on(70.0)
    # What was due at a time of the wall clock comes at that time, which a step moved.
    assert len(machine.commands.runs) == (1 if step < 0 else 2)
    assert machine.ticks["worker"] < 500
    assert machine.ticks["steward"] < 800
