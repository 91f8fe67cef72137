"""The processes of the simulation: a real worker or steward each, without a process around it."""

import math
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from sqlqd.parent.plan import Slot
from sqlqd.seat import Seat
from sqlqd.steward import Steward
from sqlqd.steward.wakeup import Notices
from sqlqd.store.sqlite import open_store
from sqlqd.worker import Worker
from tests.sim.commands import Execution
from tests.sim.edge import Edge, Killed, Meanwhile, Trouble
from tests.sim.ledger import hold
from tests.sim.queues import LONGEST_LEASE

if TYPE_CHECKING:
    from tests.sim.world import World

BUSY_TIMEOUT = 3.0


class SimNotices(Notices):
    """What a file system would say of the database."""

    def __init__(self, database: Path) -> None:
        self.fd = -1
        self.lost = False
        self.news = True

    def take(self) -> tuple[bool, bool]:
        """Whether there was a commit; the file is never another one."""
        news, self.news = self.news, False
        return news, False

    def close(self) -> None:
        """Nothing is open."""


class Process:
    """A worker or the steward with what only the system knows of it."""

    def __init__(self, world: "World", slot: Slot, seat: Seat) -> None:
        self.world = world
        self.slot = slot
        self.seat = seat
        self.pid = slot.pid
        self.actor: Worker | Steward
        self.trouble: Trouble | None = None
        self.due = 0.0
        self.dead = False
        self.stopped = False
        """By SIGSTOP, or starved: time goes on without it."""
        self.frozen = False
        """With all that it runs, out of sight of whoever would end it."""
        self.on_stack = False
        self.told = False
        """To leave."""
        self.failed_at = -math.inf
        self.run: Execution | None = None
        self._edges: list[Edge] = []

    @property
    def moves(self) -> bool:
        """Whether it does anything at this moment."""
        return not (self.dead or self.stopped or self.frozen or self.on_stack)

    def open(self, stop: Callable[[], bool], waiting: Callable[[], None]) -> Edge:
        """A store of its own."""
        world = self.world
        store = open_store(
            world.path, world.clock, busy_timeout=BUSY_TIMEOUT, stop=stop, autocheckpoint=False
        )
        edge = Edge(store, self, world.ledger, stop=stop, waiting=waiting)
        self._edges.append(edge)
        return edge

    def beat(self) -> None:
        """The steward's stamp while it waits for a lock."""
        if isinstance(self.actor, Steward):
            self.actor.beat()

    def tick(self) -> None:
        """One step, as its own loop would do it."""
        if isinstance(self.actor, Worker) and self.world.drained(self.seat.wake_fd):
            self.actor.wake()
        self.on_stack = True
        try:
            self.due = self.actor.tick()
        except Killed:
            self.end()
        finally:
            self.on_stack = False
        self.world.theatre.check()
        if self.actor.over and not self.dead:
            self.end()

    def end(self) -> None:
        """It is no more; what it ran is still there."""
        self.dead = True
        for edge in self._edges:
            edge.close()

    def kill_tree(self) -> None:
        """What it ran is no more either."""
        if self.run is not None:
            self.run.kill()

    # As an edge's owner.

    def stand_still(self, trouble: Trouble) -> None:
        match trouble.meanwhile:
            case Meanwhile.TOLD:
                self.world.tell(self, Worker.drain)
            case Meanwhile.OTHERS_END:
                self.world.finish_all_but(self)
            case Meanwhile.NOTHING:
                pass
        self.world.live(trouble.seconds)
        if self.dead:
            raise Killed

    def wait_for_lock(self, *, patient: bool, stop: Callable[[], bool], waiting: Callable[[], None]) -> bool:
        world = self.world
        waited = 0.0
        while world.clock.awake() < world.locked_until:
            if not patient or waited >= BUSY_TIMEOUT or stop():
                return False
            waiting()
            world.pass_time(0.5)
            waited += 0.5
            if self.dead:
                raise Killed
        return True

    def committed(self, verb: str) -> None:
        world = self.world
        if verb == "ended leases":
            quiet = world.clock.awake() - self.failed_at
            hold(quiet >= LONGEST_LEASE / 3, f"a lease was ended {quiet:.1f} s after a write that failed")
        elif verb not in ("tidy", "forget_daemons", "unblock"):
            world.notice()

    def took(self) -> None:
        hold(not self.told, "a job was claimed by one who was told to leave")

    def failed(self, verb: str) -> None:
        self.failed_at = self.world.clock.awake()

    def leased(self) -> Collection[str]:
        return self.world.leased()

    def die(self) -> None:
        raise Killed


class Producer:
    """A short process that adds or changes jobs: nothing outlives its death."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.trouble: Trouble | None = None

    def stand_still(self, trouble: Trouble) -> None:
        self._world.live(trouble.seconds)

    def wait_for_lock(self, *, patient: bool, stop: Callable[[], bool], waiting: Callable[[], None]) -> bool:
        if self._world.clock.awake() < self._world.locked_until:
            self._world.pass_time(BUSY_TIMEOUT)
        return self._world.clock.awake() >= self._world.locked_until

    def committed(self, verb: str) -> None:
        self._world.notice()

    def took(self) -> None:
        """Never: it claims nothing."""

    def failed(self, verb: str) -> None:
        """It says so and ends."""

    def leased(self) -> Collection[str]:
        return self._world.leased()

    def die(self) -> None:
        raise Killed
