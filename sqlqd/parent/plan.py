"""What the daemon's parent decides, as pure functions over slots, stamps, phase and clock.

Times are seconds of the awake clock; `math.inf` is never.
"""

import math
import signal
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum

from sqlqd.parent.phases import Phase
from sqlqd.seat import ChildExit, Role

FIRST_PAUSE = 0.1
LONGEST_PAUSE = 30.0
SETTLED_IN = 1.0
"""A child that lived this long after it could work, or had a job, was no failed start."""

STARTS_TRIED = 5
"""Failed starts in a row of one slot that end a daemon which was never ready."""

START_PATIENCE = 30.0
"""A child that neither starts nor waits for the database within this time hangs."""

STEWARD_PATIENCE = 60.0
"""A steward whose loop does not come round for this time hangs."""

TURN_PATIENCE = 10.0
"""A worker in the midst of a turn that for this time neither ends it nor waits for the database hangs,
perhaps with the write lock, for which everybody waits. A steward may copy a long log, and take its time."""

LEAVE_PATIENCE = 1.0
"""For children that hold nothing which they could lose, once they are told to leave."""

IDLE_PATIENCE = 2.0
"""For a worker without a job, once it is told to leave: all that it may still wait for is to say goodbye."""

ORPHANS_PATIENCE = 3.0
"""For a child that is forked while draining, only to end its predecessor's lease."""

END_PATIENCE = 5.0
"""For workers that are told to end their commands now."""

DRAIN_MARGIN = 5.0
STRAY_PATIENCE = 2.0
"""What a dead worker left running is given up after this time of SIGKILLs."""

LONGEST_LOOK = 5.0
"""The parent looks at the stamps at least so often, however idle everything is."""


class End(Enum):
    """How a child ended, as far as it matters to the daemon."""

    IN_ORDER = "in order"
    KILLED = "killed"
    """By us, who said so before."""
    CRASHED = "crashed"
    NOT_STARTED = "not started"
    CANNOT_START = "cannot start"
    """By its own word."""


class Filling(Enum):
    """What an empty slot is to be filled with, now or after its pause."""

    NOBODY = "nobody"
    HEIR = "heir"
    """Ends the leases of dead predecessors, claims nothing and leaves."""
    CHILD = "child"


@dataclass(frozen=True, slots=True)
class Limits:
    """What the parent must know of the configuration."""

    drain: float
    """Seconds that a drain may take in all."""
    shortest_lease: float


NO_LIMITS = Limits(drain=0.0, shortest_lease=math.inf)


@dataclass(slots=True)
class Slot:
    """One child's place, which outlives the child."""

    index: int
    role: Role
    wanted: bool = True
    """Whether the configuration has a place for it; a slot that it had is never taken away."""
    generation: int = 0
    """Of the configuration that its child was forked with."""
    limits: Limits = NO_LIMITS
    """Of that configuration."""
    number: int = 0
    """Of the fork that is in it."""
    uid: str = ""
    pid: int = 0
    """0: nobody is in it."""
    forked_at: float = 0.0
    told_at: float = math.inf
    """When it was told to leave."""
    leave_by: float = math.inf
    """When it is killed unless it has left, where it was told to end its command."""
    doomed: str = ""
    """Why it is being killed, if it is."""
    doomed_at: float = math.inf
    not_before: float = 0.0
    """When the next child may be forked."""
    failures: int = 0
    """Starts in a row that came to nothing."""
    orphans: tuple[tuple[int, str], ...] = ()
    """(number, uid) of dead predecessors whose leases nobody is known to have ended."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What the child of a slot says of itself on the board."""

    started: float = 0.0
    beat: float = 0.0
    lease_end: float = 0.0
    lease: float = 0.0
    busy: bool = False
    replaced: int = 0
    turn: float = 0.0


@dataclass(frozen=True, slots=True)
class Limit:
    """When a child is to be killed unless its stamp changes, and why."""

    at: float = math.inf
    reason: str = ""


def margin(lease: float) -> float:
    """How long before a lease ends its worker and all that it runs are killed.

    Time for the kernel to end them; later than the worker's own end of what it cannot renew.
    """
    return min(2.0, max(0.3, lease / 10))


def pause(failures: int) -> float:
    """Seconds before the next start, after so many failed ones in a row."""
    if failures <= 0:
        return 0.0
    return float(min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(failures - 1, 30)))


def drain_limit(queues: Iterable[tuple[float, float]]) -> float:
    """The longest drain of queues of (drain_timeout, kill_grace), with room for settling."""
    return max((drain + grace for drain, grace in queues), default=0.0) + DRAIN_MARGIN


def limit(slot: Slot, stamp: Stamp) -> Limit:
    """When the child of an occupied slot is to be killed, as far as its stamp goes."""
    if not stamp.started:
        return _earlier(
            Limit(max(slot.forked_at, stamp.beat) + START_PATIENCE, "it does not start"),
            Limit(slot.told_at + LEAVE_PATIENCE, "it does not leave"),
        )
    if slot.role is Role.STEWARD:
        return _earlier(
            Limit(max(stamp.started, stamp.beat) + STEWARD_PATIENCE, "its loop stands still"),
            Limit(slot.told_at + LEAVE_PATIENCE, "it does not leave"),
        )
    stands_still = max(stamp.turn, stamp.beat) + TURN_PATIENCE if stamp.turn else math.inf
    return _earlier(
        _earlier(Limit(stands_still, "its loop stands still"), Limit(slot.leave_by, "it does not leave")),
        _worker_limit(slot, stamp),
    )


def _worker_limit(slot: Slot, stamp: Stamp) -> Limit:
    if stamp.lease_end:
        return Limit(stamp.lease_end - margin(stamp.lease), "it does not renew its lease")
    if not stamp.busy:
        # From its last beat: it may have had a job to the end until just now.
        return Limit(max(slot.told_at, stamp.beat) + IDLE_PATIENCE, "it does not leave")
    return Limit()


def _earlier(one: Limit, other: Limit) -> Limit:
    return one if one.at <= other.at else other


def ending(slot: Slot, stamp: Stamp, status: int, phase: Phase) -> End:
    """What the exit status of a slot's child (minus the signal) means."""
    if status == ChildExit.CANNOT_START:
        return End.CANNOT_START
    left = slot.told_at < math.inf and status == ChildExit.IN_ORDER
    if not stamp.started and phase.works and not left:
        return End.NOT_STARTED
    if status == ChildExit.IN_ORDER:
        return End.IN_ORDER
    return End.KILLED if slot.doomed and status == -signal.SIGKILL else End.CRASHED


def unanswered(orphans: tuple[tuple[int, str], ...], stamp: Stamp) -> tuple[tuple[int, str], ...]:
    """The dead predecessors whose leases the slot's child has not said to have ended."""
    return tuple(orphan for orphan in orphans if orphan[0] > stamp.replaced)


def vacate(slot: Slot, stamp: Stamp, *, in_order: bool, now: float) -> None:
    """Note in the slot that its child has ended, and when the next may start."""
    slot.orphans = unanswered(slot.orphans, stamp)
    idle = bool(slot.doomed) and not stamp.busy
    if slot.role is Role.WORKER and stamp.started and not (in_order or idle):
        slot.orphans += ((slot.number, slot.uid),)
    worked = bool(stamp.started) and (stamp.busy or now - stamp.started >= SETTLED_IN)
    if worked:
        slot.failures = 0
    elif not (in_order and slot.pid and slot.told_at < math.inf):
        # Whoever was told to leave and did has failed at nothing.
        slot.failures += 1
    slot.not_before = now + pause(slot.failures)
    slot.pid, slot.told_at, slot.leave_by, slot.doomed, slot.doomed_at = 0, math.inf, math.inf, "", math.inf


def clearing(slots: Iterable[Slot]) -> bool:
    """Whether workers are still to leave a database file that was replaced."""
    return any(slot.pid and slot.leave_by < math.inf for slot in slots)


def filling(slot: Slot, phase: Phase, *, room: bool) -> Filling:
    """What an empty slot is to be filled with. `room`: fewer workers are there than the configuration has.

    While draining only to end the leases of a dead predecessor, and only where that can be had at once.
    """
    if phase.works and slot.wanted and (room or slot.role is Role.STEWARD):
        return Filling.CHILD
    if slot.orphans and (phase.works or (phase is Phase.DRAINING and not slot.failures)):
        return Filling.HEIR
    return Filling.NOBODY


def room(slots: Collection[Slot]) -> int:
    """How many workers fewer are there than the configuration has.

    After a reload to fewer workers those of the old configuration may still be at work in other slots.
    """
    workers = [slot for slot in slots if slot.role is Role.WORKER]
    return sum(1 for slot in workers if slot.wanted) - sum(1 for slot in workers if slot.pid)


def all_started(slots: Collection[Slot], stamps: Collection[Stamp]) -> bool:
    """Whether every slot has a child that can work."""
    return all(slot.pid for slot in slots) and all(stamp.started for stamp in stamps)


def look_again(limits: Limits, awaited: float | None, *, changed: bool) -> float:
    """Seconds until the stamps are read again, where nothing else wakes the parent before.

    `awaited`: for so many seconds it has been waited for a child to start; None: for none. Two looks lie
    closer together than the shortest lease, less its margin: a worker may claim just after one look and
    stop before the next.
    """
    lease = limits.shortest_lease
    seconds = min(1.0 if changed else LONGEST_LOOK, max(0.5, (lease - margin(lease)) / 2))
    return seconds if awaited is None else min(seconds, max(0.005, awaited / 10))


def is_worth_a_line(failures: int) -> bool:
    """Of starts that keep failing the first is logged, then the 2nd, 4th, 8th …"""
    return failures & (failures - 1) == 0
