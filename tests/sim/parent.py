"""The simulation's parent: the product's own decisions, over slots whose processes are only played."""

import math
from collections.abc import Callable

from sqlqd.board import Board, Cell
from sqlqd.clock import Clock
from sqlqd.parent import plan
from sqlqd.parent.phases import Phase
from sqlqd.parent.plan import Filling, Slot, Stamp
from sqlqd.seat import Role, Seat
from tests.sim.processes import Process
from tests.sim.queues import QUEUES

_LIMITS = plan.Limits(drain=30.0, shortest_lease=min(queue.lease for queue in QUEUES.values()))
_SHORTEST_LOOK = 0.1
"""Seconds. The real one looks more often while a child starts: here that would take most of the time."""


class Parent:
    """One daemon's slots, and whoever is in them."""

    def __init__(
        self, pid: int, workers: int, clock: Clock, fork: Callable[["Parent", Slot], Process]
    ) -> None:
        """`fork` makes the process of a slot that was made ready for it."""
        self.pid = pid
        self.processes: dict[int, Process] = {}
        self.look_at = 0.0
        """When it comes round next, by the awake clock."""
        self._slots = [Slot(0, Role.STEWARD), *(Slot(n + 1, Role.WORKER) for n in range(workers))]
        self._board = Board(workers + 1)
        self._clock = clock
        self._fork = fork

    @property
    def workers(self) -> list[Process]:
        """By slot."""
        return [process for slot, process in sorted(self.processes.items()) if slot]

    @property
    def steward(self) -> Process:
        """There is always one, be it a dead one."""
        return self.processes[0]

    def supervise(self) -> None:
        """One step: kill whom it must, end what the dead left, fill the slots."""
        now = self._clock.awake()
        limits = [self._see_to(slot, now) for slot in self._slots]
        since = now - max(slot.forked_at for slot in self._slots)
        awaited = any(not self._board.get(slot.index, Cell.STARTED) for slot in self._slots)
        again = plan.look_again(_LIMITS, since if awaited else None, changed=False)
        self.look_at = min(now + max(again, _SHORTEST_LOOK), *(at for at in limits if at > now), math.inf)

    def _see_to(self, slot: Slot, now: float) -> float:
        """What it does about one slot; when it must look there again."""
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
        if now >= slot.not_before and plan.filling(slot, Phase.RUNNING, room=True) is Filling.CHILD:
            self._fill(slot, now)
            return math.inf
        return slot.not_before

    def _stamp(self, slot: Slot) -> Stamp:
        board, row = self._board, slot.index
        return Stamp(
            started=board.get_time(row, Cell.STARTED),
            beat=board.get_time(row, Cell.BEAT),
            lease_end=board.get_time(row, Cell.LEASE_END),
            lease=board.get_time(row, Cell.LEASE),
            busy=bool(board.get(row, Cell.BUSY)),
            replaced=board.get(row, Cell.REPLACED),
            turn=board.get_time(row, Cell.TURN),
        )

    def _fill(self, slot: Slot, now: float) -> None:
        slot.forked_at = now
        self._board.clear(slot.index)
        self.processes[slot.index] = self._fork(self, slot)

    def seat(self, slot: Slot, number: int, pipes: list[tuple[int, int]]) -> Seat:
        """What the next child of a slot is given."""
        slot.number, slot.uid, slot.pid = number, f"{number:016x}", 5000 + number
        self._board.put(slot.index, Cell.UID, number)
        return Seat(
            role=slot.role,
            slot=slot.index,
            number=number,
            uid=slot.uid,
            replaces=slot.orphans,
            parent_pid=self.pid,
            parent_pidfd=-1,
            wake_fd=pipes[slot.index][0],
            wakers=tuple(write for _, write in pipes[1:]),
            board=self._board,
        )


Fork = Callable[[Parent, Slot], Process]
