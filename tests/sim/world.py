"""A machine with one daemon on it, all real but for the clock, the commands and the processes themselves.

The workers and the steward are those of the product, each with a connection of its own to one real file.
They are stepped here instead of by processes; the parent is played by the product's own decisions.
"""

import heapq
import itertools
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw

from sqlqd.config import Config, Daemon
from sqlqd.model import Holder, Lease
from sqlqd.parent.plan import Slot
from sqlqd.policy import LONGEST_BLOCK
from sqlqd.presence import Presence
from sqlqd.seat import Role
from sqlqd.steward import Steward
from sqlqd.steward.wakeup import Attention
from sqlqd.store.sqlite import open_store
from sqlqd.worker import Worker
from tests.sim.commands import Execution, Stage, Theatre
from tests.sim.edge import Edge
from tests.sim.ground import memory, template
from tests.sim.ledger import Account, Ledger, Place, Row, hold
from tests.sim.parent import Parent
from tests.sim.processes import BUSY_TIMEOUT, Process, Producer, SimNotices
from tests.sim.queues import LONGEST_LEASE, QUEUES
from tests.support.clocks import TwoHands

WORKERS = 3
_MOST_TICKS = 200
"""Of one process without any time going by; more is a loop that never ends."""

_ROWS = """
SELECT 'jobs', id, attempts, locked_by, '' FROM jobs
UNION ALL SELECT 'dead_jobs', id, attempts, NULL, '' FROM dead_jobs
UNION ALL SELECT 'done_jobs', id, attempts, NULL, outcome FROM done_jobs
"""


class World:
    """Everything, with the hands of its clock."""

    def __init__(self, *, seed: int = 0) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="sqlqd-sim-", dir=memory()))
        self.path = self.folder / "queue.db"
        self.path.write_bytes(template())
        self.clock = TwoHands()
        self.rng = random.Random(seed)
        self.config = Config(
            self.folder / "sqlqd.toml",
            Daemon(database=self.path, workers=WORKERS, busy_timeout=BUSY_TIMEOUT),
            QUEUES,
        )
        self.ledger = Ledger(self.clock, {name: queue.rules for name, queue in QUEUES.items()})
        self.theatre = Theatre(self.clock, self.ledger)
        self.locked_until = 0.0
        self.sighted = True
        """Whether the steward sees what runs for leases that are over."""
        self.automatic = False
        """Whether commands succeed as soon as they are started."""
        self._pids = itertools.count(1001)
        self._forks = itertools.count(1)
        self._depth = 0
        self.strays: list[Process] = []
        """Workers whose parent has died."""
        self._notices = SimNotices(self.path)
        self._pipes = [os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC) for _ in range(WORKERS + 1)]
        self.stranger = apsw.Connection(str(self.path))
        self.producer = Producer(self)
        self.desk = Edge(open_store(self.path, self.clock, autocheckpoint=False), self.producer, self.ledger)
        self._start_daemon()

    def close(self) -> None:
        """Leave nothing behind."""
        for process in self._everyone():
            process.end()
        self.desk.close()
        self.stranger.close()
        for pipe in self._pipes:
            os.close(pipe[0])
            os.close(pipe[1])
        self._presence.close()
        shutil.rmtree(self.folder)

    # Processes.

    def _start_daemon(self) -> None:
        self._presence = Presence(self.path)
        self.parent = Parent(next(self._pids), WORKERS, self.clock, self._fork)
        self.parent.supervise()

    @property
    def workers(self) -> list[Process]:
        """The daemon's workers."""
        return self.parent.workers

    @property
    def steward(self) -> Process:
        """The daemon's."""
        return self.parent.steward

    def worker(self, number: int, *, last: bool | None = None) -> Process:
        """One of those at work, if there is any: that is where something can go wrong.

        `last`: best one whose job is at its last attempt, or is not.
        """
        workers = self.workers
        busy = [one for one in workers if one.run is not None and one.run.alive]
        chosen = [one for one in busy if one.run is not None and one.run.is_last is last] or busy or workers
        return chosen[number % len(chosen)]

    def _everyone(self) -> list[Process]:
        return [*self.parent.processes.values(), *self.strays]

    def _fork(self, parent: Parent, slot: Slot) -> Process:
        process = Process(self, slot, parent.seat(slot, next(self._forks), self._pipes))
        process.due = self.clock.awake()
        process.actor = self._steward(process) if slot.role is Role.STEWARD else self._worker(process)
        return process

    def _worker(self, process: Process) -> Worker:
        def open_it(*, stop: Callable[[], bool], waiting: Callable[[], None]) -> Edge:
            return process.open(stop, waiting)

        def started(execution: Execution) -> None:
            process.run = execution
            if self.automatic:
                execution.finish(code=0)

        return Worker(
            process.seat,
            self.config,
            open_it,
            Stage(self.theatre, started),
            holder=Holder(process.slot.uid, process.slot.index, process.slot.pid),
            clock=self.clock,
            rng=self.rng,
        )

    def _steward(self, process: Process) -> Steward:
        self._attention = Attention(self.path, lambda _: self._notices)
        return Steward(
            process.seat,
            self.config,
            lambda: process.open(lambda: False, process.beat),
            self._presence,
            self._attention,
            clock=self.clock,
            rng=self.rng,
            started_at=self.clock.wall(),
            clear=self._clear,
        )

    def _clear(self, leases: Sequence[Lease]) -> bool:
        """End what still runs for leases that are over, where it can be seen."""
        if not self.sighted:
            return True
        tokens = {lease.token for lease in leases}
        for process in self._everyone():
            if process.run is not None and process.run.claim.token in tokens and not process.frozen:
                process.kill_tree()
                if process.stopped:
                    process.end()
        return True

    def notice(self) -> None:
        """Somebody has committed."""
        self._notices.news = True
        if self._attention.descriptors(self.clock.awake()):
            self.steward.due = min(self.steward.due, self.clock.awake())

    def drained(self, pipe: int) -> bool:
        """Whether there was something in a wake-up pipe."""
        with suppress(BlockingIOError):
            return bool(os.read(pipe, 4096))
        return False

    # Time.

    def pass_time(self, seconds: float) -> None:
        """Both hands go on, and only the parent does anything."""
        end = self.clock.awake() + seconds
        while self.parent.look_at <= end:
            self.clock.pass_by(max(0.0, self.parent.look_at - self.clock.awake()))
            self.parent.supervise()
        self.clock.pass_by(max(0.0, end - self.clock.awake()))

    def live(self, seconds: float) -> None:
        """Both hands go on, and everybody who can does what is due when it is."""
        if self._depth >= 2:
            self.pass_time(seconds)
            return
        self._depth += 1
        end = self.clock.awake() + seconds
        ticks = 0
        while True:
            due, process = self._next()
            if due > end:
                break
            if due > self.clock.awake():
                self.clock.pass_by(due - self.clock.awake())
                ticks = 0
            ticks += 1
            hold(ticks <= _MOST_TICKS, "somebody goes round and round without end")
            if process is None:
                self.parent.supervise()
            else:
                self.step(process)
        self.clock.pass_by(max(0.0, end - self.clock.awake()))
        self._depth -= 1

    def _next(self) -> tuple[float, Process | None]:
        times: list[tuple[float, int, Process | None]] = [(self.parent.look_at, -1, None)]
        for number, process in enumerate(self._everyone()):
            if process.moves:
                times.append((process.due, number, process))
        due, _, chosen = heapq.nsmallest(1, times, key=lambda entry: entry[:2])[0]
        return due, chosen

    def step(self, process: Process) -> None:
        """One step of one process; its death is the parent's to see."""
        if not process.moves:
            return
        process.tick()
        if process.seat.role is Role.STEWARD:
            for worker in self.workers:
                if worker.moves and self.drained(worker.seat.wake_fd) and isinstance(worker.actor, Worker):
                    worker.actor.wake()
                    worker.due = min(worker.due, self.clock.awake())
        if process.dead:
            self._bury(process)

    def _bury(self, process: Process) -> None:
        if process in self.strays:
            process.kill_tree()
            self.strays.remove(process)
        else:
            self.parent.supervise()

    # What befalls the machine.

    def finish(self, process: Process, *, code: int | None = None, signal: int | None = None) -> None:
        """A command ends by itself."""
        if process.run is not None:
            process.run.finish(code, signal)
            process.due = min(process.due, self.clock.awake())

    def finish_all_but(self, one: Process) -> None:
        """The commands of all others succeed."""
        for process in self._everyone():
            if process is not one:
                self.finish(process, code=0)

    def crash(self, process: Process, *, seen: bool) -> None:
        """A process is killed; unseen: with all that it ran, and nobody will end its lease."""
        process.end()
        if process in self.strays:
            self._bury(process)
            return
        if not seen:
            process.kill_tree()
            slot = process.slot
            slot.pid, slot.orphans, slot.not_before = 0, (), 0.0
        self.parent.supervise()

    def stop(self, process: Process) -> None:
        """It stands still; the parent will see to it."""
        process.stopped = True

    def freeze(self, process: Process) -> None:
        """It stands still with its command, and nobody sees that: it is in a container that is paused."""
        process.frozen = True
        if process.run is not None:
            process.run.frozen = True

    def go_on(self, process: Process) -> None:
        """It moves again, and comes round at once."""
        frozen, process.stopped, process.frozen = process.frozen, False, False
        if frozen:
            for _ in range(3):
                self.step(process)
            if process.run is not None:
                process.run.frozen = False
            self.theatre.check()
        process.due = min(process.due, self.clock.awake())

    def tell(self, process: Process, order: Callable[[Worker], None]) -> None:
        """The parent tells a worker to leave."""
        if isinstance(process.actor, Worker) and not process.dead:
            order(process.actor)
            process.told = True
            process.due = min(process.due, self.clock.awake())

    def parent_dies(self) -> None:
        """The workers notice; those that stand still are ended by whoever starts the next daemon."""
        self.crash_quietly(self.steward)
        for process in self.workers:
            if process.moves and isinstance(process.actor, Worker):
                process.actor.parent_is_gone()
                process.told = True
                process.due = self.clock.awake()
                self.strays.append(process)
            else:
                self.crash_quietly(process)
        self._presence.close()
        self._start_daemon()

    def crash_quietly(self, process: Process) -> None:
        """It ends with all that it ran, and nobody sees it."""
        process.end()
        process.kill_tree()

    def daemon_dies(self) -> None:
        """Everything that belongs to it is killed, and another one starts."""
        for process in self._everyone():
            self.crash_quietly(process)
        self.strays.clear()
        self._presence.close()
        self._start_daemon()

    def reboot(self) -> None:
        """The machine starts anew."""
        self.clock.reboot()
        self.locked_until = 0.0
        self.daemon_dies()

    # Checks.

    def check(self) -> None:
        """Every promise that must hold at any moment."""
        self.theatre.check()
        self.ledger.check(self._rows())

    def _rows(self) -> Iterator[Row]:
        rows: list[tuple[Any, ...]] = self.stranger.execute(_ROWS).fetchall()
        for table, *columns in rows:
            yield Row(Place(table), *columns)

    def check_replaced(self, dead: Process) -> None:
        """Where nothing stood in the way, the replacement has ended the lease of the dead worker."""
        if self.clock.awake() - 1.0 < self.locked_until or dead.slot.pid in (0, dead.pid):
            return
        held = "SELECT count(*) FROM jobs WHERE lost = 0 AND locked_by LIKE ? || '/%'"
        hold(not self.stranger.execute(held, (dead.seat.uid,)).get, "the lease of a dead worker goes on")

    def heal(self) -> None:
        """End all trouble; then every job must end, and no lease may be left."""
        self.locked_until = 0.0
        self.producer.trouble = None
        self.theatre.refusals.clear()
        self.automatic = True
        for process in self._everyone():
            process.trouble = None
            if not process.dead:
                self.go_on(process)
                self.finish(process, code=0)
        patience = self.clock.awake() + LONGEST_LEASE + LONGEST_LEASE / 3 + 12.0
        while self.leased() and self.clock.awake() < patience:
            self.live(2.0)
        self.check()
        hold(not self.leased(), "a lease outlived its time")
        for _ in range(60):
            wait = self._next_due()
            if wait is None:
                break
            self.clock.pass_by(max(0.0, wait - 0.5))
            self.live(1.5)
        self.check()
        left = [job.id for job in self.ledger.jobs.values() if self._is_unfinished(job)]
        hold(not left, f"never ended: {left}")

    def leased(self) -> set[str]:
        """The ids of jobs under a lease."""
        held = "SELECT id FROM jobs WHERE locked_by IS NOT NULL AND lost = 0"
        return {str(job_id) for (job_id,) in self.stranger.execute(held).fetchall()}

    def _is_unfinished(self, job: Account) -> bool:
        return job.place is Place.LIVE and job.queue in QUEUES

    def _next_due(self) -> float | None:
        waits = [job.due - self.clock.wall() for job in self.ledger.jobs.values() if self._is_unfinished(job)]
        if not waits:
            return None
        if min(waits) > 0:
            return min(waits)
        until: float = self.stranger.execute("SELECT max(blocked_until) FROM sqlqd_queues").get or 0.0
        blocked = until - self.clock.wall()
        return blocked if 0 < blocked <= LONGEST_BLOCK else 0.0
