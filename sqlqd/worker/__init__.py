"""One worker: a process that claims jobs and carries out one at a time."""

import math
import os
import random
import select
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum
from signal import Signals
from typing import Protocol

from sqlqd import faults, log, proc, tree
from sqlqd.board import Cell
from sqlqd.cgroup import Domain
from sqlqd.clock import Clock, SystemClock
from sqlqd.command import Programs, control
from sqlqd.command.run import Commands
from sqlqd.config import Config
from sqlqd.model import Holder, Taken
from sqlqd.patience import Patience
from sqlqd.printable import printable
from sqlqd.seat import ChildExit, Seat
from sqlqd.store.base import Interrupted, Store, StoreDenied, StoreError, StoreForeign, StoreReplaced
from sqlqd.worker import story
from sqlqd.worker.errand import Bench, Errand, Halt, Urgency

_LONGEST_WAIT = 3600.0


class OpenStore(Protocol):
    """Opens the store in the process that calls it."""

    def __call__(self, *, stop: Callable[[], bool], waiting: Callable[[], None]) -> Store:
        """`stop` ends waits of claims; `waiting` is called while it waits for a lock."""
        ...


class Phase(Enum):
    """What a worker does."""

    OPENING = "opening"
    IDLE = "idle"
    BUSY = "busy"
    OVER = "over"


class Worker:
    """A worker's whole state. Its owner calls `tick`, then waits for `descriptors` until the deadline."""

    def __init__(
        self,
        seat: Seat,
        config: Config,
        open_store: OpenStore,
        commands: Commands,
        *,
        holder: Holder,
        clock: Clock,
        rng: random.Random,
        signalled: Callable[[], bool] = lambda: False,
        title: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`signalled`: whether a signal waits to be heard; it ends waits for a claim. `title` shows people
        what the worker does.
        """
        self.status = ChildExit.IN_ORDER
        """The process's exit status, once it is over."""
        self._seat = seat
        self._bench = Bench(
            seat=seat,
            config=config,
            rules=tuple(queue.rules for queue in config.queues.values()),
            commands=commands,
            holder=holder,
            clock=clock,
            rng=rng,
            patience=Patience(clock, rng, seat.slot),
        )
        self._open_store = open_store
        self._signalled = signalled
        self._title = title
        self._phase = Phase.OPENING
        self._halt = Halt()
        self._parent_gone = False
        self._store: Store | None = None
        self._errand: Errand | None = None
        self._has_worked = False
        self._after = ""
        self._woken = True
        self._not_before = -math.inf
        """No try of the store before this, whoever wakes us."""
        self._next_look = 0.0
        self._steps: Mapping[Phase, Callable[[float], float]] = {
            Phase.OPENING: self._open,
            Phase.IDLE: self._look,
            Phase.BUSY: self._carry_on,
            Phase.OVER: lambda now: now,
        }

    @property
    def over(self) -> bool:
        """Whether the process is to leave, with `status`."""
        return self._phase is Phase.OVER

    def tick(self) -> float:
        """Do what is due; when more is, by the awake clock."""
        self._beat()
        now = self._bench.clock.awake()
        self._seat.board.put_time(self._seat.slot, Cell.TURN, now)
        due = self._steps[self._phase](now)
        self._seat.board.put(self._seat.slot, Cell.TURN, 0)
        return due

    def descriptors(self) -> Mapping[int, int]:
        """What to wait for: descriptors with the events of poll()."""
        wanted: dict[int, int] = {}
        if not self._parent_gone:
            wanted[self._seat.parent_pidfd] = select.POLLIN
        if self._errand is not None:
            wanted.update(self._errand.descriptors())
        elif not self._woken:
            wanted[self._seat.wake_fd] = select.POLLIN
        return wanted

    # What it is told.

    def wake(self) -> None:
        """There may be something to do."""
        self._woken = True

    def retire(self) -> None:
        """Claim nothing more; leave once the command has ended, however long it takes."""
        self._stop(Urgency.RETIRE)

    def drain(self) -> None:
        """Claim nothing more; leave once the command has ended or had its drain_timeout."""
        self._stop(Urgency.DRAIN)

    def stop(self) -> None:
        """End the command now, release its job, and leave."""
        self._stop(Urgency.NOW)

    def parent_is_gone(self) -> None:
        """Nobody would end what this worker leaves running."""
        self._parent_gone = True
        self._stop(Urgency.NOW)

    def _stop(self, urgency: Urgency) -> None:
        if urgency > self._halt.urgency:
            self._halt = Halt(urgency, self._bench.clock.awake())

    # What it does.

    def _open(self, now: float) -> float:
        if self._halt.urgency is not Urgency.NONE:
            return self._leave(now)
        if now < self._not_before:
            return self._not_before
        try:
            self._store = self._open_store(stop=self._must_not_claim, waiting=self._beat)
            if self._seat.file is not None and self._store.file != self._seat.file:
                return self._leave(now)
            self._announce(self._store)
        except StoreError as error:
            self._close_store()
            if isinstance(error, StoreForeign | StoreDenied) and not self._has_worked:
                log.event("worker.cannot_start", worker=self._seat.slot, reason=str(error))
                self.status = ChildExit.CANNOT_START
                self._phase = Phase.OVER
                return now
            return self._wait_for_store(now, error)
        self._bench.patience.worked()
        self._phase = Phase.IDLE
        self._title(f"worker {self._seat.slot}: idle")
        return now

    def _announce(self, store: Store) -> None:
        seat = self._seat
        left = store.worker_started(
            self._bench.holder, seat.parent_pid, replaces=tuple(uid for _, uid in seat.replaces)
        )
        for job in left:
            story.left(job, seat.slot)
        seat.board.put(seat.slot, Cell.REPLACED, max((number for number, _ in seat.replaces), default=0))
        if not self._has_worked:
            seat.board.put_time(seat.slot, Cell.STARTED, self._bench.clock.awake())
            log.event("worker.started", worker=seat.slot)
        self._has_worked = True

    def _look(self, now: float) -> float:
        if self._halt.urgency is not Urgency.NONE or self._store is None:
            return self._leave(now)
        if self._seat.paused:
            return now + _LONGEST_WAIT
        if now < self._not_before or not (self._woken or now >= self._next_look):
            return max(self._not_before, now if self._woken else self._next_look)
        self._woken = False
        return self._claim(self._store, now)

    def _claim(self, store: Store, now: float) -> float:
        try:
            store.check_file()
            taken = store.claim(self._bench.holder, self._bench.rules, after=self._after)
        except Interrupted:
            self._woken = True
            return now
        except StoreReplaced:
            # The parent sees to it that nobody begins with the new one while somebody is at work on the old.
            return self._leave(now)
        except StoreError as error:
            return self._wait_for_store(now, error)
        self._bench.patience.worked()
        return self._take(taken, now)

    def _take(self, taken: Taken, now: float) -> float:
        story.buried(taken.buried, self._seat.slot)
        if taken.claim is not None and self._store is not None:
            faults.point("worker.claimed")
            job = taken.claim.job
            self._after = job.queue
            self._errand = Errand(self._bench, self._store, taken.claim, now)
            self._title(f"worker {self._seat.slot}: {job.queue} {job.id:.8}, attempt {job.attempts}")
            self._phase = Phase.BUSY
            return self._errand.first_due
        if self._errand is not None:
            self._title(f"worker {self._seat.slot}: idle")
        self._errand = None
        self._phase = Phase.IDLE
        # More may stand behind what was buried.
        self._woken = self._woken or bool(taken.buried)
        self._next_look = self._own_turn(now)
        return now if self._woken or self._halt.urgency is not Urgency.NONE else self._next_look

    def _carry_on(self, now: float) -> float:
        errand = self._errand
        if errand is None:
            return self._take(Taken(None), now)
        due = errand.tick(now, self._halt)
        if errand.next is None:
            return due
        self._woken = self._woken or not errand.settled
        return self._take(errand.next, now)

    def _own_turn(self, now: float) -> float:
        """When it looks although nobody woke it: all workers together look about once a second."""
        workers = self._bench.config.daemon.workers
        return math.floor((now - self._seat.slot) / workers) * workers + self._seat.slot + workers

    def _wait_for_store(self, now: float, error: StoreError) -> float:
        self._not_before = now + self._bench.patience.failed(str(error))
        self._woken = True
        return self._not_before

    def _leave(self, now: float) -> float:
        if self._store is not None:
            # Where it cannot be said, the daemon's chores find it out.
            with suppress(StoreError):
                self._store.worker_stopped(self._bench.holder.uid)
        self._close_store()
        self._phase = Phase.OVER
        return now

    def _close_store(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _must_not_claim(self) -> bool:
        return self._halt.urgency is not Urgency.NONE or self._signalled()

    def _beat(self) -> None:
        self._seat.board.put_time(self._seat.slot, Cell.BEAT, self._bench.clock.awake())
        self._seat.board.put(self._seat.slot, Cell.DROPPED, log.dropped())


_TOLD: Mapping[Signals, Callable[[Worker], None]] = {
    Signals.SIGTERM: Worker.drain,
    Signals.SIGUSR1: Worker.stop,
    Signals.SIGUSR2: Worker.retire,
}
"""What the parent's signals mean; a terminal's, which everybody gets, are the parent's to decide about."""


def work(seat: Seat, config: Config, open_store: OpenStore, cgroups: Domain | None = None) -> int:
    """Be the worker of this seat until it is told to leave; the process's exit status.

    `cgroups`: where jobs get theirs.
    """
    wakeup = proc.Wakeup()
    name = proc.child_name(seat.uid)
    proc.call_myself(name, f"worker {seat.slot}")
    tree.become_subreaper()
    clock = SystemClock()
    holder = Holder(seat.uid, seat.slot, os.getpid())
    for _, uid in seat.replaces:
        control.forget(uid)
    programs = Programs(config.path, holder, clock, cgroups)
    worker = Worker(
        seat,
        config,
        open_store,
        programs,
        holder=holder,
        clock=clock,
        rng=random.SystemRandom(),
        signalled=lambda: bool(proc.wait((wakeup.fd,), 0.0, clock)),
        title=lambda doing: proc.call_myself(name, printable(doing)),
    )
    while True:
        deadline = worker.tick()
        if worker.over:
            programs.close()
            return worker.status
        ready = proc.wait_for({**worker.descriptors(), wakeup.fd: select.POLLIN}, deadline, clock)
        if wakeup.fd in ready:
            for number in wakeup.take():
                if number in _TOLD:
                    _TOLD[number](worker)
        if seat.wake_fd in ready:
            _empty(seat.wake_fd)
            worker.wake()
        if seat.parent_pidfd in ready:
            worker.parent_is_gone()


def _empty(pipe: int) -> None:
    with suppress(BlockingIOError):
        os.read(pipe, 65_536)
