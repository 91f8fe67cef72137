"""The daemon's children: a process a slot, the pipe that wakes it, and the end of what it leaves behind."""

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from signal import Signals

from sqlqd import faults, proc, tree
from sqlqd.board import Board, Cell
from sqlqd.cgroup import Domain, Leaves
from sqlqd.identity import Identity
from sqlqd.parent import plan
from sqlqd.parent.orders import Orders
from sqlqd.parent.plan import Slot, Stamp
from sqlqd.seat import Role, Seat

_UID_BYTES = 8
_AGAIN = 1.0
"""Seconds between looks at a child that SIGKILL does not end: it sleeps uninterruptibly."""


@dataclass(slots=True)
class _Process:
    """The child that is in a slot."""

    pidfd: int
    ending: tree.Ending | None = None
    """Under way once it is dead or to be killed; of it and of all that it left behind."""
    due: float = math.inf
    """When the next step of the ending is."""
    spared: set[int] = field(default_factory=set)
    """Whom the ending leaves alone."""


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of a child: its exit status, or minus the signal; and which of its processes remain."""

    status: int
    remains: tuple[tree.Member, ...]


class Crew:
    """All children. What they do is given by orders; when one is forked or killed its caller decides."""

    def __init__(self, orders: Orders, cgroups: Domain | None = None) -> None:
        """Make the slots, their pipes and the board; nothing runs yet. `cgroups`: where jobs get theirs."""
        self.board = Board()
        self.slots: list[Slot] = []
        self.generation = 0
        """Of the orders that hold."""
        self.orders = orders
        self._pipes: list[tuple[int, int]] = []
        self.follow(orders)
        self._parent = (os.getpid(), os.pidfd_open(os.getpid()))
        self._processes: dict[int, _Process] = {}
        self._forks = 0
        self._strangers: set[int] = set()
        self._cgroups = cgroups

    @property
    def pidfds(self) -> list[int]:
        """Readable once a child has ended; without those whose end is known."""
        return [process.pidfd for process in self._processes.values() if process.ending is None]

    @property
    def due(self) -> float:
        """When the next step of an ending is due."""
        return min((process.due for process in self._processes.values()), default=math.inf)

    def follow(self, orders: Orders) -> None:
        """Fork by these orders from now on; who is there already is not touched.

        Raises OSError, and all stays as it was, where the system has no pipes to give.
        """
        fresh: list[tuple[int, int]] = []
        try:
            while len(self.slots) + len(fresh) <= orders.workers:
                fresh.append(os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC))
        except OSError:
            for descriptor in (one for pipe in fresh for one in pipe):
                os.close(descriptor)
            raise
        for pipe in fresh:
            self.slots.append(Slot(len(self.slots), Role.WORKER if self.slots else Role.STEWARD))
            self._pipes.append(pipe)
        for slot in self.slots:
            slot.wanted = slot.index <= orders.workers
        self.orders = orders
        self.generation += 1

    def stamp(self, slot: Slot) -> Stamp:
        """What the child of a slot says of itself; nothing where the row is not its own."""
        board, row = self.board, slot.index
        if board.get(row, Cell.UID) != slot.number:
            return Stamp()
        return Stamp(
            started=board.get_time(row, Cell.STARTED),
            beat=board.get_time(row, Cell.BEAT),
            lease_end=board.get_time(row, Cell.LEASE_END),
            lease=board.get_time(row, Cell.LEASE),
            busy=bool(board.get(row, Cell.BUSY)),
            replaced=board.get(row, Cell.REPLACED),
            turn=board.get_time(row, Cell.TURN),
        )

    def fill(
        self,
        slot: Slot,
        now: float,
        forget: Callable[[], None],
        *,
        paused: bool,
        file: Identity | None = None,
    ) -> None:
        """Fork a child into an empty slot; it begins with `forget`, which closes what is the parent's alone.

        A paused one claims nothing; none claims from another database than `file`. Raises OSError where
        the system has no process to give.
        """
        self._forks += 1
        slot.number, slot.uid = self._forks, os.urandom(_UID_BYTES).hex()
        self.board.clear(slot.index)
        self.board.put(slot.index, Cell.UID, slot.number)
        slot.generation, slot.limits = self.generation, self.orders.limits
        child, seat = self.orders.children[slot.role], self._seat(slot, paused=paused, file=file)

        def run() -> int:
            forget()
            self._close_all_but(seat)
            return child(seat)

        slot.pid, pidfd = proc.fork(run)
        slot.forked_at = now
        for process in self._processes.values():
            process.spared.add(slot.pid)
        self._processes[slot.index] = _Process(pidfd)
        faults.point("parent.forked")

    def tell(self, slot: Slot, number: Signals) -> None:
        """Send the child of a slot a signal."""
        if slot.index in self._processes:
            proc.send(self._processes[slot.index].pidfd, number)

    def kill(self, slot: Slot, now: float) -> None:
        """Begin to end a child and everything below it, at once."""
        process = self._processes[slot.index]
        if process.ending is None:
            others = {other.pid for other in self.slots if other is not slot}
            process.spared.update(others, self._strangers)
            process.ending = tree.Ending(
                now,
                grace=0.0,
                leader=slot.pid,
                spared=process.spared,
                enclosure=self._leaves(slot),
                patience=plan.STRAY_PATIENCE,
            )
            process.due = now

    def step(self, slot: Slot, now: float) -> Exit | None:
        """Go on with a child's end; how it ended, once nothing that it left runs on, or that was given up."""
        process = self._processes[slot.index]
        if process.ending is None and _has_ended(process.pidfd):
            self.kill(slot, now)
        if process.ending is None or now < process.due:
            return None
        over = process.ending.step(now)
        process.due = now + _AGAIN if over else process.ending.due
        if not over or not _has_ended(process.pidfd):
            return None
        if (leaves := self._leaves(slot)) is not None:
            leaves.remove()
        remains = process.ending.remains
        self._spare(member.pid for member in remains)
        return Exit(self._reap(slot), remains)

    def _leaves(self, slot: Slot) -> Leaves | None:
        """The cgroups of what the child of a slot has at work."""
        return self._cgroups.of_slot(slot.index) if self._cgroups is not None else None

    def look_around(self) -> None:
        """Note which children are none of ours, to leave them alone: from before us, or orphans given to us.

        To be called before the slots are looked at: what is here while no child of a slot has ended, none
        of them left behind.
        """
        self._strangers = {pid for pid in self._strangers if not tree.reaped(pid)}
        strangers = _children() - {slot.pid for slot in self.slots} - self._strangers
        if strangers and not any(one.ending or _has_ended(one.pidfd) for one in self._processes.values()):
            self._spare(strangers)

    def _spare(self, pids: Iterable[int]) -> None:
        self._strangers.update(pids)
        for process in self._processes.values():
            process.spared |= self._strangers

    def _reap(self, slot: Slot) -> int:
        process = self._processes.pop(slot.index)
        os.close(process.pidfd)
        _, status = os.waitpid(slot.pid, 0)
        for other in self._processes.values():
            other.spared.discard(slot.pid)
        faults.point("parent.reaped")
        return os.waitstatus_to_exitcode(status)

    def _seat(self, slot: Slot, *, paused: bool, file: Identity | None) -> Seat:
        steward = slot.role is Role.STEWARD
        return Seat(
            role=slot.role,
            slot=slot.index,
            number=slot.number,
            uid=slot.uid,
            replaces=slot.orphans,
            parent_pid=self._parent[0],
            parent_pidfd=self._parent[1],
            wake_fd=self._pipes[slot.index][0],
            wakers=tuple(write for _, write in self._pipes[1:]) if steward else (),
            board=self.board,
            file=file,
            paused=paused,
        )

    def _close_all_but(self, seat: Seat) -> None:
        for process in self._processes.values():
            os.close(process.pidfd)
        for read, write in self._pipes:
            if read != seat.wake_fd:
                os.close(read)
            if write not in seat.wakers:
                os.close(write)


def _has_ended(pidfd: int) -> bool:
    return os.waitid(os.P_PIDFD, pidfd, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _children() -> set[int]:
    try:
        return tree.children()
    except OSError:
        # Nothing to look with: then nobody can be told to be a stranger.
        return set()
