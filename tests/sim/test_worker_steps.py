"""The real worker on a real store, step by step, under a clock and commands that the test owns."""

import os
import random
import signal
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from sqlqd import config
from sqlqd.board import Board, Cell
from sqlqd.model import Ended, Holder, NewJob, Outcome, Rules, State
from sqlqd.seat import ChildExit, Role, Seat
from sqlqd.store.base import Store, StoreBusy, StoreFailed, StoreForeign
from sqlqd.store.sqlite import SqliteStore, open_store
from sqlqd.worker import Worker
from tests.support.clocks import TwoHands
from tests.support.faked_runs import FakedCommands, FakedRun

QUEUES = """
[daemon]
database = "queue.db"
workers = 4
[queues.mail]
command = "true"
lease = "30s"
drain_timeout = "60s"
"""


class Scene:
    """One worker, its store, and hands to move."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "c.toml").write_text(QUEUES)
        self.clock = TwoHands()
        self.board = Board()
        self.commands = FakedCommands(self.clock)
        self.store = open_store(directory / "queue.db", self.clock, create=True, migrate=True)
        self.broken: Exception | None = None
        self.worker = Worker(
            Seat(Role.WORKER, 2, 7, "ab" * 8, ((5, "cd" * 8),), os.getpid(), -1, -1, (), self.board),
            config.load(directory / "c.toml"),
            self._open,
            self.commands,
            holder=Holder("ab" * 8, 2, 1),
            clock=self.clock,
            rng=random.Random(1),
        )

    def _open(self, *, stop: Callable[[], bool], waiting: Callable[[], None]) -> Store:
        if self.broken is not None:
            raise self.broken
        return self.store

    def add(self) -> str:
        return self.store.enqueue([NewJob("mail")])[0].id

    def settle_down(self) -> float:
        """Tick until nothing more is due now; when more is."""
        for _ in range(50):
            due = self.worker.tick()
            if self.worker.over or due > self.clock.awake():
                return due
        pytest.fail("it spins")

    def pass_by(self, seconds: float) -> None:
        """Let time go by as the worker would see it: it wakes when it asked to."""
        end = self.clock.awake() + seconds
        for _ in range(10_000):
            due = self.settle_down()
            if self.worker.over or due >= end:
                break
            self.clock.pass_by(due - self.clock.awake())
        self.clock.pass_by(max(0.0, end - self.clock.awake()))
        self.settle_down()

    def running(self) -> FakedRun:
        self.worker.wake()
        self.settle_down()
        return self.commands.runs[-1]

    def cell(self, cell: Cell) -> int:
        return self.board.get(2, cell)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.store.close()


def failing(monkeypatch: pytest.MonkeyPatch, verb: str, error: Exception) -> list[int]:
    calls: list[int] = []

    def fail(*_args: object, **_more: object) -> None:
        calls.append(1)
        raise error

    monkeypatch.setattr(SqliteStore, verb, fail)
    return calls


def test_it_says_what_it_is_before_it_claims(scene: Scene) -> None:
    scene.settle_down()
    assert scene.cell(Cell.REPLACED) == 5
    assert scene.cell(Cell.STARTED) > 0
    assert scene.cell(Cell.BUSY) == 0


def test_idle_workers_look_by_turns_about_once_a_second_in_all(scene: Scene) -> None:
    due = [scene.settle_down()]
    for _ in range(3):
        scene.clock.pass_by(due[-1] - scene.clock.awake())
        due.append(scene.settle_down())
    assert [later - earlier for earlier, later in pairwise(due)] == [4.0, 4.0, 4.0]
    assert due[0] % 4 == 2


def test_the_lease_is_stamped_while_a_command_runs_and_not_after(scene: Scene) -> None:
    scene.add()
    run = scene.running()
    assert scene.board.get_time(2, Cell.LEASE_END) == pytest.approx(scene.clock.awake() + 30.0)
    assert scene.board.get_time(2, Cell.LEASE) == pytest.approx(30.0)
    assert scene.cell(Cell.BUSY) == 1
    run.finish()
    scene.settle_down()
    assert (scene.cell(Cell.LEASE_END), scene.cell(Cell.BUSY)) == (0, 0)
    assert run.closed


def test_it_renews_every_third_of_the_lease(scene: Scene) -> None:
    job = scene.add()
    run = scene.running()
    for _ in range(20):
        scene.pass_by(9.0)
        assert len(scene.store.expire_leases()) == 0
    run.finish()
    scene.settle_down()
    record = scene.store.record(job)
    assert record is not None
    assert record.state.value == "done"


def test_a_step_of_the_wall_clock_changes_nothing(scene: Scene) -> None:
    scene.add()
    run = scene.running()
    for step in (-7200.0, 7200.0, 86_400.0):
        scene.clock.step_wall(step)
        scene.pass_by(5.0)
    assert run.asked == []


def test_what_cannot_be_renewed_is_killed_before_the_lease_ends(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.add()
    run = scene.running()
    end = scene.clock.awake() + 30.0
    calls = failing(monkeypatch, "renew", StoreBusy("locked"))
    scene.pass_by(26.9)
    assert run.asked == []
    assert len(calls) >= 10
    scene.pass_by(0.2)
    assert run.asked == [(Ended.LEASE_LOST, True)]
    assert scene.clock.awake() < end - 2.0
    assert len(scene.commands.runs) == 1


def test_a_lease_that_another_has_is_given_up(scene: Scene) -> None:
    scene.add()
    run = scene.running()
    scene.clock.pass_by(31.0)
    scene.store.expire_leases()
    taken = scene.store.claim(Holder("ef" * 8, 3, 1), [Rules("mail")])
    assert taken.claim is not None
    scene.settle_down()
    assert run.asked == [(Ended.LEASE_LOST, True)]
    record = scene.store.record(run.claim.job.id)
    assert record is not None
    assert (record.locked_by, record.attempts) == (taken.claim.token, 2)


def test_a_drain_waits_and_then_ends_and_releases(scene: Scene) -> None:
    scene.add()
    run = scene.running()
    scene.worker.drain()
    scene.pass_by(59.0)
    assert run.asked == []
    scene.pass_by(1.5)
    assert run.asked == [(Ended.INTERRUPTED, False)]
    assert scene.worker.over
    assert scene.worker.status == ChildExit.IN_ORDER


def test_who_retires_lets_the_command_end_and_claims_nothing_more(scene: Scene) -> None:
    job, other = scene.add(), scene.add()
    run = scene.running()
    scene.worker.retire()
    scene.pass_by(3600.0)
    assert run.asked == []
    assert not scene.worker.over
    # No stop: what a signal ended has failed.
    run.finish(Ended.EXITED, 128 + signal.SIGTERM)
    again = open_store(scene.directory / "queue.db", scene.clock)
    scene.pass_by(1.0)
    assert scene.worker.over
    assert scene.worker.status == ChildExit.IN_ORDER
    records = [again.record(one) for one in (job, other)]
    assert [one and one.state.value for one in records] == ["scheduled", "ready"]
    again.close()


def test_who_retires_can_still_be_told_to_drain(scene: Scene) -> None:
    scene.add()
    run = scene.running()
    scene.worker.retire()
    scene.worker.drain()
    scene.pass_by(60.5)
    assert run.asked == [(Ended.INTERRUPTED, False)]


def test_to_be_told_again_and_harder_counts(scene: Scene) -> None:
    scene.commands.deaf = True
    scene.add()
    run = scene.running()
    scene.worker.drain()
    scene.pass_by(61.0)
    assert not scene.worker.over
    scene.worker.stop()
    scene.settle_down()
    assert run.asked == [(Ended.INTERRUPTED, False), (Ended.INTERRUPTED, True)]
    assert scene.worker.over


def test_a_command_that_dies_of_the_stop_costs_no_attempt(tmp_path: Path) -> None:
    for how, code, state in (
        (Ended.EXITED, 143, "ready"),
        (Ended.SIGNALLED, None, "ready"),
        (Ended.EXITED, 1, "scheduled"),
    ):
        directory = tmp_path / f"{how.name}{code}"
        directory.mkdir()
        scene = Scene(directory)
        job = scene.add()
        run = scene.running()
        scene.worker.drain()
        run.finish(how, code)
        again = open_store(directory / "queue.db", scene.clock)
        scene.settle_down()
        record = again.record(job)
        assert record is not None
        assert record.state.value == state
        again.close()


@pytest.mark.parametrize(("stopped", "state"), [(True, "ready"), (False, "scheduled")])
def test_a_command_that_hears_of_the_stop_before_its_worker_costs_no_attempt(
    scene: Scene, *, stopped: bool, state: str
) -> None:
    job = scene.add()
    run = scene.running()
    run.finish(Ended.EXITED, 128 + signal.SIGTERM)
    scene.pass_by(0.05)
    record = scene.store.record(job)
    assert record is not None
    assert record.state is State.RUNNING
    again = open_store(scene.directory / "queue.db", scene.clock)
    if stopped:
        scene.worker.drain()
    scene.pass_by(1.0)
    record = again.record(job)
    assert record is not None
    assert record.state.value == state
    again.close()


def test_an_end_that_cannot_be_recorded_is_tried_again_and_nothing_else_begun(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, _ = scene.add(), scene.add()
    run = scene.running()
    with monkeypatch.context() as broken:
        calls = failing(broken, "settle", StoreFailed("disk full"))
        run.finish()
        scene.pass_by(120.0)
        assert 20 <= len(calls) <= 50
        assert scene.cell(Cell.LEASE_END) == 0
        assert scene.cell(Cell.BUSY) == 1
        assert len(scene.commands.runs) == 1
    # Nobody ends leases for a third of one once the store answers again: half of that is enough.
    scene.pass_by(5.0)
    record = scene.store.record(job)
    assert record is not None
    assert record.state.value == "done"
    assert len(scene.commands.runs) == 2


@pytest.mark.parametrize("drain", ["60s", "infinity"])
def test_a_drain_ends_although_an_end_can_never_be_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, drain: str
) -> None:
    monkeypatch.setitem(globals(), "QUEUES", QUEUES.replace("60s", drain))
    scene = Scene(tmp_path)
    scene.add()
    run = scene.running()
    scene.worker.drain()
    scene.pass_by(20.0)
    failing(monkeypatch, "settle", StoreBusy("locked"))
    run.finish()
    scene.pass_by(29.0)
    assert not scene.worker.over
    scene.pass_by(12.0)
    assert scene.worker.over
    assert scene.worker.status == ChildExit.IN_ORDER


def test_a_command_that_cannot_start_is_released_and_its_queue_held(scene: Scene) -> None:
    scene.commands.refuses = Outcome(Ended.NOT_STARTED, 0.0, 0.0, detail="no such file", lasting=True)
    scene.add()
    scene.running()
    scene.pass_by(4.0)
    assert len(scene.commands.runs) == 1
    scene.pass_by(100.0)
    assert 4 <= len(scene.commands.runs) <= 6
    scene.commands.refuses = None
    scene.pass_by(200.0)
    scene.commands.runs[-1].finish()
    scene.settle_down()
    (mail,) = [queue for queue in scene.store.overview(["mail"]).queues if queue.name == "mail"]
    assert mail.blocked_until is None


def test_a_store_of_somebody_else_ends_the_worker_and_a_busy_one_does_not(scene: Scene) -> None:
    scene.broken = StoreBusy("locked")
    scene.pass_by(30.0)
    assert not scene.worker.over
    scene.broken = StoreForeign("newer")
    scene.pass_by(30.0)
    assert scene.worker.over
    assert scene.worker.status == ChildExit.CANNOT_START
