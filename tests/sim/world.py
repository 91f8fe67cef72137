"""A machine with one daemon on it, all real but for the clock, the commands and the processes themselves.

The workers and the steward are those of the product, each with a connection of its own to one real file.
They are stepped here instead of by processes; the parent is played by the product's own decisions.
"""

import heapq
import math
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from sqlqd import log, plan
from sqlqd.board import Board, Cell
from sqlqd.config import Config, Daemon
from sqlqd.model import Holder
from sqlqd.plan import Phase, Slot, Stamp
from sqlqd.presence import Presence
from sqlqd.seat import Role, Seat
from sqlqd.steward import Steward
from sqlqd.store.sqlite import open_store
from sqlqd.wakeup import Attention
from sqlqd.worker import Worker
from tests.sim.commands import Execution, Stage, Theatre
from tests.sim.edge import Edge
from tests.sim.ledger import Account, Ledger, Place, Row, hold
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
        self.folder = Path(tempfile.mkdtemp(prefix="sqlqd-sim-", dir=_memory()))
        self.path = self.folder / "queue.db"
        self.path.write_bytes(_template())
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
        self.automatic = False
        """Whether commands succeed as soon as they are started."""
        self._limits = plan.Limits(drain=30.0, shortest_lease=min(q.lease for q in QUEUES.values()))
        self._parent_pid = 1000
        self._forks = 0
        self._look_at = 0.0
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
        self._parent_pid += 1
        self._board = Board(WORKERS + 1)
        self.slots = [Slot(0, Role.STEWARD), *(Slot(n + 1, Role.WORKER) for n in range(WORKERS))]
        self.processes: dict[int, Process] = {}
        self._presence = Presence(self.path)
        self.supervise()

    @property
    def workers(self) -> list[Process]:
        """The daemon's workers."""
        return [process for slot, process in sorted(self.processes.items()) if slot]

    def worker(self, number: int) -> Process:
        """One of those at work, if there is any: that is where something can go wrong."""
        workers = self.workers
        busy = [process for process in workers if process.run is not None and process.run.alive]
        chosen = busy or workers
        return chosen[number % len(chosen)]

    @property
    def steward(self) -> Process:
        """The daemon's."""
        return self.processes[0]

    def _everyone(self) -> list[Process]:
        return [*self.processes.values(), *self.strays]

    def _fork(self, slot: Slot) -> None:
        self._forks += 1
        slot.number, slot.uid, slot.pid = self._forks, f"{self._forks:016x}", 5000 + self._forks
        slot.forked_at = self.clock.awake()
        self._board.clear(slot.index)
        self._board.put(slot.index, Cell.UID, slot.number)
        seat = Seat(
            role=slot.role,
            slot=slot.index,
            number=slot.number,
            uid=slot.uid,
            replaces=slot.orphans,
            parent_pid=self._parent_pid,
            parent_pidfd=-1,
            wake_fd=self._pipes[slot.index][0],
            wakers=tuple(write for _, write in self._pipes[1:]),
            board=self._board,
        )
        process = Process(self, slot, seat)
        process.due = self.clock.awake()
        process.actor = self._steward(process) if slot.role is Role.STEWARD else self._worker(process)
        self.processes[slot.index] = process

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
        )

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

    # The parent.

    def _stamp(self, slot: Slot) -> Stamp:
        board, row = self._board, slot.index
        return Stamp(
            started=board.get_time(row, Cell.STARTED),
            beat=board.get_time(row, Cell.BEAT),
            lease_end=board.get_time(row, Cell.LEASE_END),
            lease=board.get_time(row, Cell.LEASE),
            busy=bool(board.get(row, Cell.BUSY)),
            replaced=board.get(row, Cell.REPLACED),
        )

    def supervise(self) -> None:
        """One step of the parent: kill whom it must, end what the dead left, fill the slots."""
        now = self.clock.awake()
        limits = [self._see_to(slot, now) for slot in self.slots]
        since = now - max(slot.forked_at for slot in self.slots)
        awaited = any(not self._board.get(slot.index, Cell.STARTED) for slot in self.slots)
        again = plan.look_again(self._limits, since if awaited else None, changed=False)
        self._look_at = min(now + max(again, 0.1), *(at for at in limits if at > now), math.inf)

    def _see_to(self, slot: Slot, now: float) -> float:
        """What the parent does about one slot; when it must look there again."""
        process, stamp = self.processes.get(slot.index), self._stamp(slot)
        limit = plan.limit(slot, stamp)
        if process is not None and not process.frozen:
            if now >= limit.at and not process.dead:
                process.end()
            if process.dead and slot.pid:
                process.kill_tree()
                plan.vacate(slot, stamp, in_order=process.actor.over, now=now)
        if slot.pid:
            return limit.at
        if now >= slot.not_before and plan.wants_child(slot, Phase.RUNNING):
            self._fork(slot)
            return math.inf
        return slot.not_before

    # Time.

    def pass_time(self, seconds: float) -> None:
        """Both hands go on, and only the parent does anything."""
        end = self.clock.awake() + seconds
        while self._look_at <= end:
            self.clock.pass_by(max(0.0, self._look_at - self.clock.awake()))
            self.supervise()
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
                self.supervise()
            else:
                self.step(process)
        self.clock.pass_by(max(0.0, end - self.clock.awake()))
        self._depth -= 1

    def _next(self) -> tuple[float, Process | None]:
        times: list[tuple[float, int, Process | None]] = [(self._look_at, -1, None)]
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
            self.supervise()

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
        self.supervise()

    def stop(self, process: Process) -> None:
        """It stands still; the parent will see to it."""
        process.stopped = True

    def freeze(self, process: Process) -> None:
        """It stands still with its command, and so does whoever would end it."""
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
        self.locked_until = self._look_at = 0.0
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
        while self._leases() and self.clock.awake() < patience:
            self.live(2.0)
        self.check()
        hold(not self._leases(), "a lease outlived its time")
        for _ in range(60):
            wait = self._next_due()
            if wait is None:
                break
            self.clock.pass_by(max(0.0, wait - 0.5))
            self.live(1.5)
        self.check()
        left = [job.id for job in self.ledger.jobs.values() if self._is_unfinished(job)]
        hold(not left, f"never ended: {left}")

    def _leases(self) -> int:
        """Leases that were there before now."""
        count: int = self.stranger.execute("SELECT count(*) FROM jobs WHERE locked_by IS NOT NULL").get
        return count

    def _is_unfinished(self, job: Account) -> bool:
        return job.place is Place.LIVE and job.queue in QUEUES

    def _next_due(self) -> float | None:
        waits = [job.due - self.clock.wall() for job in self.ledger.jobs.values() if self._is_unfinished(job)]
        if not waits:
            return None
        blocked = self.stranger.execute("SELECT max(blocked_until) FROM sqlqd_queues").get or 0.0
        return max(0.0, min(waits), blocked - self.clock.wall() if min(waits) <= 0 else 0.0)


def _memory() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


_made: list[bytes] = []


def _template() -> bytes:
    """A new database's bytes: made once, by the product."""
    if not _made:
        with tempfile.TemporaryDirectory(dir=_memory()) as folder:
            path = Path(folder) / "queue.db"
            open_store(path, TwoHands(), create=True).close()
            _made.append(path.read_bytes())
    return _made[0]


@contextmanager
def silent_log() -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """What is logged goes into a list."""
    told: list[tuple[str, dict[str, Any]]] = []
    real = log.event
    log.event = lambda name, /, **fields: told.append((name, fields))
    try:
        yield told
    finally:
        log.event = real
