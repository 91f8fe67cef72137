"""What the daemon's parent decides, as pure functions over slots, stamps, phase and clock.

Times are seconds of the awake clock; `math.inf` is never.
"""

import math
import signal
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from signal import Signals

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


class Phase(Enum):
    """Where the daemon is between its start and its end."""

    STARTING = "starting"
    RUNNING = "running"
    DRAINING = "draining"
    """No new jobs; running commands have their time."""
    KILLING = "killing"
    """Running commands are ended."""


class End(Enum):
    """How a child ended, as far as it matters to the daemon."""

    IN_ORDER = "in order"
    KILLED = "killed"
    """By us, who said so before."""
    CRASHED = "crashed"
    NOT_STARTED = "not started"
    CANNOT_START = "cannot start"
    """By its own word."""


class Step(Enum):
    """What a signal asks for."""

    NOTHING = "nothing"
    LOOK = "look"
    DRAIN = "drain"
    END = "end"
    HANG_UP = "hang up"


_AT_WORK = {
    signal.SIGTERM: Step.DRAIN,
    signal.SIGINT: Step.DRAIN,
    signal.SIGQUIT: Step.END,
    signal.SIGHUP: Step.HANG_UP,
    signal.SIGUSR1: Step.NOTHING,
    signal.SIGUSR2: Step.NOTHING,
    signal.SIGCHLD: Step.LOOK,
}

SIGNALS: dict[Phase, dict[Signals, Step]] = {
    Phase.STARTING: _AT_WORK,
    Phase.RUNNING: _AT_WORK,
    Phase.DRAINING: {
        signal.SIGTERM: Step.NOTHING,
        signal.SIGINT: Step.END,
        signal.SIGQUIT: Step.END,
        signal.SIGHUP: Step.NOTHING,
        signal.SIGUSR1: Step.NOTHING,
        signal.SIGUSR2: Step.NOTHING,
        signal.SIGCHLD: Step.LOOK,
    },
    Phase.KILLING: {
        signal.SIGTERM: Step.NOTHING,
        signal.SIGINT: Step.NOTHING,
        signal.SIGQUIT: Step.NOTHING,
        signal.SIGHUP: Step.NOTHING,
        signal.SIGUSR1: Step.NOTHING,
        signal.SIGUSR2: Step.NOTHING,
        signal.SIGCHLD: Step.LOOK,
    },
}
"""Every signal in every phase. What a hang-up means depends on how the daemon was started."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the parent must know of the configuration."""

    drain: float
    """Seconds that a drain may take in all."""
    shortest_lease: float


@dataclass(slots=True)
class Slot:
    """One child's place, which outlives the child."""

    index: int
    role: Role
    number: int = 0
    """Of the fork that is in it."""
    uid: str = ""
    pid: int = 0
    """0: nobody is in it."""
    forked_at: float = 0.0
    told_at: float = math.inf
    """When it was told to leave."""
    doomed: str = ""
    """Why it is being killed, if it is."""
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
    return _earlier(Limit(stands_still, "its loop stands still"), _worker_limit(slot, stamp))


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
    if not stamp.started and phase in (Phase.STARTING, Phase.RUNNING):
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
    slot.failures = 0 if worked else slot.failures + 1
    slot.not_before = now + pause(slot.failures)
    slot.pid, slot.told_at, slot.doomed = 0, math.inf, ""


def wants_child(slot: Slot, phase: Phase) -> bool:
    """Whether an empty slot is to be filled, now or after its pause.

    While draining only to end the leases of a dead predecessor, and only where that can be had at once.
    """
    if phase in (Phase.STARTING, Phase.RUNNING):
        return True
    return phase is Phase.DRAINING and bool(slot.orphans) and not slot.failures


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


def status(phase: Phase, slots: Collection[Slot], stamps: Collection[Stamp], *, ready: int, dead: int) -> str:
    """One line for people, in ASCII."""
    pairs = [(slot, stamp) for slot, stamp in zip(slots, stamps, strict=True) if slot.role is Role.WORKER]
    busy = sum(1 for slot, stamp in pairs if slot.pid and stamp.busy)
    if phase is Phase.STARTING:
        return "starting"
    if phase is not Phase.RUNNING:
        return f"stopping, {busy} of {len(pairs)} workers still busy"
    parts = [f"{busy} of {len(pairs)} workers busy", f"{ready} ready", f"{dead} dead"]
    failing = sum(1 for slot in slots if slot.failures)
    if failing:
        parts.append(f"{failing} of {len(slots)} processes cannot start")
    return ", ".join(parts)
