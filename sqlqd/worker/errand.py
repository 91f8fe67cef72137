"""One claim carried out: its command is run, its lease renewed, its end recorded.

Nothing is recorded while anything of the job runs, and nothing of it runs past the lease's end.
"""

import math
import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import IntEnum

from sqlqd import faults
from sqlqd.board import Cell
from sqlqd.clock import Clock
from sqlqd.command.launch import Refusal
from sqlqd.command.run import Commands, NotStarted, Run, ended_by_stop, looks_stopped
from sqlqd.config import Config
from sqlqd.model import Ask, Claim, Ended, Holder, Outcome, Progress, Rules, Taken, Verdict
from sqlqd.patience import Patience
from sqlqd.policy import judge
from sqlqd.seat import Seat
from sqlqd.store.base import Store, StoreBusy, StoreError, StoreReplaced
from sqlqd.worker import story

FAREWELL = 3.0
"""Seconds that a worker which has to leave goes on trying to record a job's end."""

LONGEST_FAREWELL = 30.0
"""At most so many where the drain has more time: it must end although somebody never gives up a lock."""

_LONGEST_RENEWAL_PAUSE = 1.0
_LOCKED_PAUSE = 0.02
"""Between tries to renew against a lock: none of its gaps is to be missed, however short they are."""
_TRIES_A_LEASE = 6.0

_LISTENING = 0.5
"""Seconds between two looks at what a person asks of the job."""

_ENDS = {Ask.KILL: Ended.KILLED, Ask.BURY: Ended.BURIED, Ask.CANCEL: Ended.CANCELLED}

_DOUBT = 0.2
"""Seconds that an end which looks like a stop's waits for that stop, where all were told at once to leave."""


class Urgency(IntEnum):
    """How a worker is to leave, if it is."""

    NONE = 0
    RETIRE = 1
    """Its command has all the time that it needs."""
    DRAIN = 2
    """Its command has the queue's drain_timeout."""
    NOW = 3


@dataclass(frozen=True, slots=True)
class Halt:
    """Whether to leave, and since when, by the awake clock."""

    urgency: Urgency = Urgency.NONE
    at: float = math.inf


@dataclass(frozen=True, slots=True)
class Bench:
    """What every errand of a worker is done with."""

    seat: Seat
    config: Config
    rules: tuple[Rules, ...]
    """One object for all calls: the store keeps what it works out about it."""
    commands: Commands
    holder: Holder
    clock: Clock
    rng: random.Random
    patience: Patience


def margin(lease: float) -> float:
    """Seconds before a lease's end at which a claim that was not renewed is given up.

    Before the parent would kill the worker for it, and long enough for SIGKILL to end a tree.
    """
    return min(3.0, max(0.5, lease / 6.0))


class Errand:
    """A claim from its start to its end. Its owner calls `tick` until there is a `next`."""

    def __init__(self, bench: Bench, store: Store, claim: Claim, now: float) -> None:
        self.next: Taken | None = None
        """Once it is over: what was claimed in the same transaction; Taken(None) may mean to look again."""
        self.settled = False
        """Once it is over: whether the store was reached and looked for more."""
        self._bench = bench
        self._store = store
        self._claim = claim
        self._queue = bench.config.queues[claim.job.queue]
        self._renew_at = now + self._queue.lease / 3.0
        self._not_before = now
        self._asked = Urgency.NONE
        self._listen_at = now + _LISTENING
        self._told: Progress | None = None
        self._heard: Ask | None = None
        """What a person asked of it so far."""
        self._doubted_until: float | None = None
        self._lost = False
        self._end: tuple[Outcome, Verdict] | None = None
        """How the run ended and what follows, until that is recorded."""
        self._ended_at = -math.inf
        self._stamp(claim.until_awake, busy=True)
        self._run = self._started()
        self.first_due = now if self._run.outcome is not None else now + min(_LISTENING, self._queue.timeout)
        """When the first tick is due, unless one of its descriptors is ready before."""
        self._still_blocked = claim.blocks > 0 and self._run.outcome is None
        if self._run.outcome is None:
            story.started(claim, bench.seat.slot, self._run.pid)
            faults.point("worker.started")

    def _started(self) -> Run:
        """The command's run, unless so much time went by since the claim that another may soon have the job.

        Looked at behind the stamp: whoever stands still before it is found out here, later by the parent.
        """
        clock = self._bench.clock
        if clock.awake() < self._claim.until_awake - margin(self._queue.lease):
            return self._bench.commands.start(self._claim, self._queue)
        late = Refusal(Ended.INTERRUPTED, "the worker stood still until the lease was nearly over")
        return NotStarted(late, clock.wall())

    def descriptors(self) -> Mapping[int, int]:
        """What its command's run waits for."""
        return self._run.descriptors() if self._run.outcome is None else {}

    def tick(self, now: float, halt: Halt) -> float:
        """Do what is due; when more is."""
        if self._end is None and self.next is None:
            return self._watch(now, halt)
        return self._settle(now, halt)

    # While the command runs.

    def _watch(self, now: float, halt: Halt) -> float:
        due = self._run.step(now) if self._run.outcome is None else now
        outcome = self._run.outcome
        if outcome is None:
            return min(due, self._heed(now, halt), self._keep(now), self._listen(now))
        clear_at = self._clear_at(outcome, now, halt)
        if now < clear_at:
            return clear_at
        self._close(outcome, halt)
        return self._settle(now, halt)

    def _clear_at(self, outcome: Outcome, now: float, halt: Halt) -> float:
        """When it is certain that no stop was meant: a command's signal may come before its worker's."""
        if halt.urgency >= Urgency.DRAIN or not looks_stopped(outcome):
            return now
        if self._doubted_until is None:
            self._doubted_until = now + _DOUBT
        return self._doubted_until

    def _heed(self, now: float, halt: Halt) -> float:
        """End the command where the worker is to leave; when that is due."""
        if halt.urgency is Urgency.RETIRE:
            return math.inf
        drained_at = halt.at + self._queue.drain_timeout if halt.urgency is Urgency.DRAIN else halt.at
        if now < drained_at:
            return drained_at
        if halt.urgency <= self._asked:
            return math.inf
        self._asked = halt.urgency
        self._run.end(Ended.INTERRUPTED, now, at_once=halt.urgency is Urgency.NOW)
        return now

    def _listen(self, now: float) -> float:
        """End the command where a person asked for that; when to look again."""
        if now < self._listen_at:
            return self._listen_at
        self._listen_at = now + _LISTENING
        # Where the store does not answer, renewing sees to that; a request is not lost by it.
        with suppress(StoreError):
            if self._run.progress is not None and self._run.progress != self._told:
                self._store.progress(self._claim, self._run.progress)
                self._told = self._run.progress
            asked = self._store.asked(self._claim)
            if asked is not None and asked is not self._heard:
                self._heard = asked
                story.asked(self._claim, self._bench.seat.slot, asked)
                self._run.end(_ENDS[asked], now)
        return self._listen_at

    def _keep(self, now: float) -> float:
        """Renew the lease, or give the claim up before it ends; when that is due again."""
        if self._lost:
            return math.inf
        if now >= self._renew_at:
            self._renew(now)
        last = self._claim.until_awake - margin(self._queue.lease)
        if not self._lost and now >= last:
            self._lose(now, "it could not be renewed in time")
        return now if self._lost else min(self._renew_at, last)

    def _renew(self, now: float) -> None:
        lease = self._queue.lease
        try:
            renewed = self._store.renew(self._claim, lease)
        except StoreError as error:
            self._bench.patience.failed(str(error))
            locked = isinstance(error, StoreBusy)
            self._renew_at = now + (_LOCKED_PAUSE if locked else min(lease / 20.0, _LONGEST_RENEWAL_PAUSE))
            return
        self._bench.patience.worked()
        if renewed is None:
            self._lose(now, "another worker has the job")
            return
        self._claim = renewed
        self._renew_at = now + lease / 3.0
        self._stamp(renewed.until_awake, busy=True)
        self._unblock()

    def _lose(self, now: float, why: str) -> None:
        self._lost = True
        story.lost(self._claim, self._bench.seat.slot, why)
        self._run.end(Ended.LEASE_LOST, now, at_once=True)

    def _unblock(self) -> None:
        """Its queue's command could be started. Where that is missed, the next start says so again."""
        if self._still_blocked:
            with suppress(StoreError):
                self._store.unblock(self._queue.name)
                self._still_blocked = False

    # Once nothing of it runs.

    def _close(self, outcome: Outcome, halt: Halt) -> None:
        self._run.close()
        faults.point("worker.ended")
        # From here on there is nothing that would have to end before the lease does.
        self._stamp(0.0, busy=True)
        if outcome.how is Ended.LEASE_LOST:
            self._over(Taken(None), settled=False)
            return
        if halt.urgency >= Urgency.DRAIN and ended_by_stop(outcome):
            outcome = replace(outcome, how=Ended.INTERRUPTED, detail="the daemon stopped")
        bench = self._bench
        verdict = judge(outcome, self._claim, self._queue.policy, bench.clock.wall(), bench.rng)
        self._end = (outcome, verdict)
        self._ended_at = bench.clock.awake()

    def _settle(self, now: float, halt: Halt) -> float:
        if self._end is None or self.next is not None or now < self._not_before:
            return self._not_before
        bench = self._bench
        outcome, verdict = self._end
        if self._is_replaced():
            story.lost(self._claim, bench.seat.slot, "the database file was replaced")
            self._over(Taken(None), settled=False)
            return now
        try:
            self._unblock()
            settled = self._store.settle(
                self._claim,
                verdict,
                outcome,
                then=(bench.holder, bench.rules) if halt.urgency is Urgency.NONE else None,
            )
        except StoreError as error:
            return self._try_later(now, halt, error)
        bench.patience.worked()
        if settled.kept:
            became = settled.verdict or verdict
            story.settled(self._claim, outcome, became, bench.seat.slot, bench.clock.wall())
            story.queue(self._claim, settled, bench.seat.slot)
        else:
            story.lost(
                self._claim, bench.seat.slot, "another worker took the job before its end was recorded"
            )
        faults.point("worker.settled")
        self._over(settled.next, settled=settled.kept)
        return now

    def _is_replaced(self) -> bool:
        """Whether there is another database by now; one that is gone may come back, and is still open."""
        try:
            self._store.check_file()
        except StoreError as error:
            return isinstance(error, StoreReplaced)
        return False

    def _try_later(self, now: float, halt: Halt, error: StoreError) -> float:
        pause = self._bench.patience.failed(str(error))
        # Once the store answers again nobody ends a lease for a third of it: by then this end is recorded.
        self._not_before = now + min(pause, self._queue.lease / _TRIES_A_LEASE)
        if now >= self._last_try(halt):
            story.lost(
                self._claim, self._bench.seat.slot, f"the daemon stops and its end was not recorded: {error}"
            )
            self._over(Taken(None), settled=False)
            return now
        return self._not_before

    def _last_try(self, halt: Halt) -> float:
        match halt.urgency:
            case Urgency.NONE | Urgency.RETIRE:
                return math.inf
            case Urgency.DRAIN:
                drained_at = halt.at + max(FAREWELL, self._queue.drain_timeout)
                return min(drained_at, max(halt.at, self._ended_at) + LONGEST_FAREWELL)
            case Urgency.NOW:
                return halt.at + FAREWELL

    def _over(self, following: Taken, *, settled: bool) -> None:
        self.next = following
        self.settled = settled
        self._stamp(0.0, busy=False)

    def _stamp(self, lease_end: float, *, busy: bool) -> None:
        board, slot = self._bench.seat.board, self._bench.seat.slot
        # The length first: whoever sees an end must find its length.
        board.put_time(slot, Cell.LEASE, self._queue.lease if lease_end else 0.0)
        board.put_time(slot, Cell.LEASE_END, lease_end)
        board.put(slot, Cell.BUSY, int(busy))
