"""The steward: wakes idle workers when something is due, and keeps the database in order.

Every daemon has one, which wakes that daemon's workers; the chores on the file are done by the one that
holds their lock. It never claims a job, and nothing but speed is lost while there is none.
"""

import math
import os
import random
from contextlib import suppress
from signal import SIGTERM, SIGUSR2

from sqlqd import faults, log, proc
from sqlqd.board import Cell
from sqlqd.clock import Clock, SystemClock
from sqlqd.config import Config
from sqlqd.model import DaemonSeen
from sqlqd.patience import Patience
from sqlqd.presence import Presence
from sqlqd.relics import Relics, log_ended
from sqlqd.seat import ChildExit, Seat
from sqlqd.steward.bell import Bell
from sqlqd.steward.chores import Chores, Clear
from sqlqd.steward.wakeup import POLL_INTERVAL, Attention
from sqlqd.store.base import (
    Opener,
    Store,
    StoreDenied,
    StoreError,
    StoreForeign,
    StoreMissing,
    StoreReplaced,
)
from sqlqd.version import VERSION
from sqlqd.worker import OpenStore

_LONGEST_SLEEP = 1.0
"""Times of the wall clock are looked at so often: it may step, and the machine may have slept."""

_CHECK_INTERVAL = 2.0
"""Whole seconds between two looks whether the database is still the file that is open: it is all that an idle
steward wakes for, and whoever begins a job looks by itself.
"""

_SHORTEST_SLEEP = 0.02
"""Between two looks because of a job's time: whatever the store answers, nothing spins."""


class Steward:
    """A steward's whole state. Its owner calls `tick`, then waits for `descriptors` until the deadline."""

    def __init__(
        self,
        seat: Seat,
        config: Config,
        open_store: Opener,
        presence: Presence,
        attention: Attention,
        *,
        clock: Clock,
        rng: random.Random,
        started_at: float,
        loaded_at: float | None = None,
        clear: Clear = lambda _: True,
    ) -> None:
        """When the daemon started and, where that was later, last loaded its configuration: Unix seconds."""
        self.status = ChildExit.IN_ORDER
        self.over = False
        """Whether the process is to leave, with `status`."""
        self._seat = seat
        self._config = config
        self._rules = tuple(queue.rules for queue in config.queues.values())
        self._open_store = open_store
        self._presence = presence
        self._attention = attention
        self._clock = clock
        self._rng = rng
        self._clear = clear
        self._started_at = started_at
        self._loaded_at = started_at if loaded_at is None else loaded_at
        self._bell = Bell(seat)
        self._patience = Patience(clock, rng)
        self._not_before = -math.inf
        self._store: Store | None = None
        self._chores: Chores | None = None
        self._has_worked = False
        self._said = False
        self._check_at = -math.inf
        self._next_at: float | None = None
        """When the next job is due, in Unix seconds."""
        self._look_at = -math.inf
        """No look for its sake before this."""

    def tick(self) -> float:
        """Do what is due; when more is, by the awake clock."""
        now = self._clock.awake()
        self.beat()
        if self.over or now < self._not_before:
            return self._not_before
        try:
            if self._store is None or self._chores is None:
                self._store, self._chores = self._opened()
            due = self._work(self._store, self._chores, now)
        except StoreReplaced as error:
            log.event("database.replaced", reason=str(error))
            self._close()
            return now
        except StoreMissing as error:
            # What is open still answers, and would be found to be missing again and again.
            self._close()
            return self._wait(now, error)
        except StoreError as error:
            return self._wait(now, error)
        self._patience.worked()
        return due

    def descriptors(self) -> list[int]:
        """What to wait for until the deadline."""
        return self._attention.descriptors(self._clock.awake())

    def beat(self) -> None:
        """Stamp that it moves on; also while it waits for a lock."""
        board, slot = self._seat.board, self._seat.slot
        board.put_time(slot, Cell.BEAT, self._clock.awake())
        board.put(slot, Cell.DROPPED, log.dropped())

    def retire(self) -> None:
        """Go, and leave the rest to the steward that comes next."""
        self._close()
        self.over = True

    def leave(self) -> None:
        """Go: the daemon ends in order, or its parent is gone."""
        if self._store is not None:
            with suppress(StoreError, OSError):
                self._store.forget_daemons(set(self._presence.living()) - {self._seat.parent_pid})
        self.retire()

    def _opened(self) -> tuple[Store, Chores]:
        store = self._open_store()
        try:
            store.daemon_started(self._announcement())
            if not self._has_worked:
                # Whoever starts a daemon, or loads a configuration again, may have mended what held a queue.
                store.unblock_all(self._config.queues)
        except BaseException:
            store.close()
            raise
        chores = Chores(
            self._seat,
            store,
            self._presence,
            self._rules,
            tuple(self._config.schedules.values()),
            clock=self._clock,
            rng=self._rng,
            clear=self._clear,
        )
        if self._patience.failing:
            chores.hold_off()
        self._attention.close()
        self._look_at, self._next_at = -math.inf, -math.inf
        if not self._has_worked:
            self._has_worked = True
            self._seat.board.put_time(self._seat.slot, Cell.STARTED, self._clock.awake())
            log.event("steward.started")
        return store, chores

    def _announcement(self) -> DaemonSeen:
        return DaemonSeen(
            pid=self._seat.parent_pid,
            started_at=self._started_at,
            loaded_at=self._loaded_at,
            version=VERSION,
            config=str(self._config.path),
            workers=self._config.daemon.workers,
        )

    def _work(self, store: Store, chores: Chores, now: float) -> float:
        if now >= self._check_at or self._attention.replaced:
            self._attention.replaced = False
            self._check_at = math.floor(now) + _CHECK_INTERVAL
            store.check_file()
        idle = self._bell.idle()
        if self._attention.listen(now, idle=bool(idle)):
            chores.committed(now)
        self._report_trouble()
        if idle and (self._attention.is_due(now) or now >= self._timer(now)):
            self._look(store, idle, now)
        timer = self._timer(now) if idle else math.inf
        return min(chores.tick(now), self._attention.deadline(now), timer, self._check_at)

    def _look(self, store: Store, idle: list[int], now: float) -> None:
        outlook = store.outlook(self._rules, limit=len(idle))
        faults.point("steward.looked")
        self._seat.board.put_time(self._seat.slot, Cell.LOOKED, now)
        self._attention.looked(now)
        self._look_at = now + _SHORTEST_SLEEP
        self._next_at = outlook.next_at
        self._bell.ring(idle, outlook.due, now)

    def _timer(self, now: float) -> float:
        """When the next job's time has come, by the awake clock."""
        if self._next_at is None:
            return math.inf
        return max(self._look_at, now + min(self._next_at - self._clock.wall(), _LONGEST_SLEEP))

    def _report_trouble(self) -> None:
        if self._attention.trouble and not self._said:
            self._said = True
            log.event("wakeup.polling", interval_seconds=POLL_INTERVAL, reason=self._attention.trouble)

    def _wait(self, now: float, error: StoreError) -> float:
        if isinstance(error, StoreForeign | StoreDenied) and not self._has_worked:
            log.event("steward.cannot_start", reason=str(error))
            self.status, self.over = ChildExit.CANNOT_START, True
            return now
        if self._chores is not None:
            self._chores.hold_off()
        self._not_before = now + self._patience.failed(str(error))
        return self._not_before

    def _close(self) -> None:
        if self._store is not None:
            with suppress(StoreError):
                self._store.close()
        self._store = self._chores = None


def steward(seat: Seat, config: Config, open_store: OpenStore, *, started_at: float, loaded_at: float) -> int:
    """Be the steward of this seat until it is told to leave; the process's exit status."""
    wakeup = proc.Wakeup()
    proc.call_myself(proc.child_name(seat.uid), "steward")
    clock = SystemClock()

    def opened() -> Store:
        return open_store(stop=lambda: False, waiting=me.beat)

    me = Steward(
        seat,
        config,
        opened,
        Presence(config.daemon.database),
        Attention(config.daemon.database),
        clock=clock,
        rng=random.SystemRandom(),
        started_at=started_at,
        loaded_at=loaded_at,
        clear=Relics(clock, log_ended).end_of_leases,
    )
    while not me.over:
        deadline = me.tick()
        if me.over:
            break
        mine = [wakeup.fd, seat.parent_pidfd, seat.wake_fd]
        ready = proc.wait([*mine, *me.descriptors()], deadline, clock)
        if seat.wake_fd in ready:
            os.read(seat.wake_fd, 4096)
        told = wakeup.take()
        if seat.parent_pidfd in ready or SIGTERM in told:
            me.leave()
        elif SIGUSR2 in told:
            me.retire()
    return me.status
