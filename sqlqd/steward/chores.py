"""What a steward does for the database besides waking workers: each chore in small steps, when it is due.

Those that change the file are done by one steward at a time, whichever holds the lock for them. After a
write that failed no lease is ended for a while: whoever could not write either renews or settles first.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlqd import log
from sqlqd.board import SLOTS, Cell
from sqlqd.clock import Clock
from sqlqd.model import Lease, Pause, Rules
from sqlqd.patience import Patience
from sqlqd.presence import Presence
from sqlqd.seat import Seat
from sqlqd.store.base import Store, StoreError, StoreReplaced
from sqlqd.timetable import Schedule
from sqlqd.worker import story

CHECKPOINT_AFTER = 0.25
"""Seconds from a commit to the checkpoint that takes it in: long before a stranger's own would."""

_COPY_INTERVAL = 1.0
"""Between checkpoints that a reader keeps from their end."""

_TIDY_INTERVAL = 60.0
_TIDY_PAUSE = 0.2
"""Between two steps of housekeeping when there is more to do."""

_CLEARING_INTERVAL = 0.05
"""Between looks at what still runs for a lease that is over."""

_ELECT_INTERVAL = 5.0
_FORGET_INTERVAL = 60.0
_COUNT_INTERVAL = 2.0
"""Between two counts, at least."""

_COUNT_SHARE = 50.0
"""Counting takes at most this part of the time."""

_LONGEST_LOOK = 20.0
"""Between two looks at schedules."""

_LOG_TO_MENTION = 64 * 1024 * 1024
"""Bytes in the write-ahead log from which on people should know; and again at twice as many."""

_ALL = "*"
"""What the log calls all queues."""

_LONGEST_HOLD = 15.0
"""Seconds: whoever could not record a job's end tries again in less, however long its lease is."""

_LONGEST_RULE = 30.0
"""The lease that is assumed where no queue is configured."""


Clear = Callable[[Sequence[Lease]], bool]
"""Ends what still runs for leases that are over, without waiting. True: nothing does."""


@dataclass(slots=True)
class _Chore:
    """One chore: when it is due, by the awake clock, and what does it and says when it is again."""

    act: Callable[[float], float]
    due: float = 0.0
    elected: bool = True
    """Only for the one steward that does the chores."""


class Chores:
    """The chores of one steward on one open store."""

    def __init__(
        self,
        seat: Seat,
        store: Store,
        presence: Presence,
        rules: Sequence[Rules],
        schedules: Sequence[Schedule] = (),
        *,
        clock: Clock,
        rng: random.Random,
        clear: Clear = lambda _: True,
    ) -> None:
        self._seat = seat
        self._store = store
        self._presence = presence
        self._clock = clock
        self._clear = clear
        self._patience = Patience(clock, rng)
        self._locks = Patience(clock, rng)
        self._rules = tuple(rules)
        self._schedules = tuple(schedules)
        self._adopted = False
        self._names = tuple(one.name for one in rules)
        self._hold = min(_LONGEST_HOLD, max((one.lease for one in rules), default=_LONGEST_RULE) / 3.0)
        self._expire_not_before = -math.inf
        self._not_before = 0.0
        self._elected = False
        self._leased = True
        """Whether anybody held a lease when jobs were last counted."""
        self._said: dict[str, int] = {}
        self._paused: dict[str, Pause] = {}
        self._mention_log_at = _LOG_TO_MENTION
        self._checkpoint = _Chore(self._copy_log)
        self._expiry = _Chore(self._expire)
        self._tally = _Chore(self._count, elected=False)
        self._tally_not_before = -math.inf
        self._chores = (
            _Chore(self._elect, elected=False),
            _Chore(self._forget_the_dead),
            self._checkpoint,
            self._tally,
            self._expiry,
            _Chore(self._tidy),
            # Each daemon has schedules of its own; where two have the same, the store adds a job once.
            _Chore(self._fire, elected=False),
        )

    def committed(self, now: float) -> None:
        """Somebody may have committed."""
        self._checkpoint.due = min(self._checkpoint.due, now + CHECKPOINT_AFTER)
        self._tally.due = min(self._tally.due, max(self._tally_not_before, _next_second(now)))
        self._expiry.due = min(self._expiry.due, _next_second(now))

    def hold_off(self) -> None:
        """The store could not be had: end no lease before its holders had time to renew or settle."""
        self._expire_not_before = max(self._clock.awake(), self._not_before) + self._hold

    def tick(self, now: float) -> float:
        """Do what is due; when more is. Raises StoreReplaced; every other failure is waited out here."""
        if now < self._not_before:
            return self._not_before
        for chore in self._chores:
            if now < chore.due or not self._is_mine(chore):
                continue
            try:
                chore.due = chore.act(now)
            except StoreReplaced:
                raise
            except OSError as error:
                # Of the file of locks, which the other chores do without.
                chore.due = self._clock.awake() + self._locks.failed(str(error))
            except StoreError as error:
                # A wait for the lock may have taken all of the pause.
                self._not_before = self._clock.awake() + self._patience.failed(str(error))
                self.hold_off()
                return self._not_before
        self._patience.worked()
        return min(chore.due for chore in self._chores if self._is_mine(chore))

    def _is_mine(self, chore: _Chore) -> bool:
        return self._elected or not chore.elected

    def _elect(self, now: float) -> float:
        # Where nobody can be elected it is better that two do the chores than none.
        self._elected = True
        self._presence.renew()
        self._elected = self._presence.elect()
        self._locks.worked()
        return _next_second(now) + _ELECT_INTERVAL

    def _forget_the_dead(self, now: float) -> float:
        self._store.forget_daemons({*self._presence.living(), self._seat.parent_pid})
        return _next_second(now) + _FORGET_INTERVAL

    def _copy_log(self, now: float) -> float:
        left = self._store.checkpoint()
        if left >= self._mention_log_at:
            log.event("database.log_grows", bytes=left)
            self._mention_log_at = 2 * left
        elif not left:
            self._mention_log_at = _LOG_TO_MENTION
        return now + _COPY_INTERVAL if left else math.inf

    def _expire(self, now: float) -> float:
        if now < self._expire_not_before:
            # No worker has that name: this only asks for the lock, since the time counts from when it is had.
            self._store.end_leases((self._seat.uid,))
            return min(self._expire_not_before, _next_second(now))
        over = [lease for lease in self._store.overdue() if not self._is_being_settled(lease, now)]
        if over and not self._clear(over):
            return now + _CLEARING_INTERVAL
        if over:
            for job in self._store.expire_leases(only={lease.token for lease in over}):
                story.left(job)
        return _next_second(now) if self._leased else math.inf

    def _is_being_settled(self, lease: Lease, now: float) -> bool:
        """Whether its job has ended, and its holder, one of our own workers, tries to record that."""
        slot = lease.slot
        if slot is None or not 0 < slot < SLOTS:
            return False
        board = self._seat.board
        ended = bool(board.get(slot, Cell.BUSY)) and not board.get(slot, Cell.LEASE_END)
        return ended and now - board.get_time(slot, Cell.BEAT) < _LONGEST_HOLD

    def _tidy(self, now: float) -> float:
        return now + (_TIDY_PAUSE if self._store.tidy(self._rules) else _TIDY_INTERVAL)

    def _fire(self, now: float) -> float:
        """Add what schedules have due. All are looked at each time: the clock may have been set."""
        if not self._schedules:
            return math.inf
        if not self._adopted:
            self._store.adopt_schedules(self._schedules)
            self._adopted = True
        looked = self._store.fire(self._schedules)
        for fired in looked:
            if fired.skipped:
                log.event("schedule.skipped", schedule=fired.name, reason=fired.skipped)
            for job in fired.kept_out_by:
                reason = f"job {job} of an earlier time has not ended"
                log.event("schedule.skipped", schedule=fired.name, job_id=job, reason=reason)
        soonest = min((one.next_at for one in looked if one.next_at is not None), default=math.inf)
        return now + min(max(soonest - self._clock.wall(), 0.0), _LONGEST_LOOK)

    def _count(self, now: float) -> float:
        """What STATUS says, and which jobs wait in vain."""
        seen = self._store.overview(self._names)
        board, slot = self._seat.board, self._seat.slot
        board.put(slot, Cell.READY, sum(queue.ready for queue in seen.queues if queue.name in self._names))
        board.put(slot, Cell.DEAD, sum(queue.dead for queue in seen.queues))
        self._leased = any(queue.running for queue in seen.queues)
        self._report_pauses(self._store.pauses())
        self._report_unknown({queue.name: queue.ready + queue.scheduled for queue in seen.queues})
        cost = self._clock.awake() - now
        self._tally_not_before = now + max(_COUNT_INTERVAL, cost * _COUNT_SHARE)
        if self._leased:
            self._expiry.due = min(self._expiry.due, _next_second(now))
        ends = [pause.until - seen.now for pause in self._paused.values() if pause.until is not None]
        return _next_second(now + max(0.0, min(ends, default=math.inf)))

    def _report_pauses(self, pauses: Sequence[Pause]) -> None:
        paused = {pause.queue: pause for pause in pauses}
        for name in sorted(paused.keys() - self._paused.keys()):
            log.event("queue.paused", queue=name or _ALL)
        for name in sorted(self._paused.keys() - paused.keys()):
            log.event("queue.resumed", queue=name or _ALL)
        self._paused = paused

    def _report_unknown(self, waiting: dict[str, int]) -> None:
        unknown = {name: count for name, count in waiting.items() if count and name not in self._names}
        for name in unknown.keys() - self._said.keys():
            log.event("queue.unknown", queue=name, count=unknown[name])
        self._said = unknown


def _next_second(now: float) -> float:
    """Whole seconds, so that what is not urgent is done at one waking."""
    return now if math.isinf(now) else math.floor(now) + 1.0
