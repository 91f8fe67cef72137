"""What a daemon's parent tells of itself: one line for people, requests for more time, signs of life.

Nothing here has a timer of its own: all of it is said by the loop that it is about.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass

from sqlqd import log
from sqlqd.parent import plan
from sqlqd.parent.phases import Phase
from sqlqd.parent.plan import Slot, Stamp
from sqlqd.seat import Role
from sqlqd.systemd import Notices

MENDING = 10.0
"""Seconds after which whoever was killed should be gone, and another one at work in its place."""

LONGEST_START = 3600.0
"""For so long more time to start is asked for: a large database may have to be migrated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The daemon as its parent sees it at one look."""

    phase: Phase
    generation: int
    slots: Collection[Slot]
    stamps: Collection[Stamp]
    """Of the slots, in their order."""
    preparing: bool = False
    ready: int = 0
    """Jobs that are due."""
    dead: int = 0
    more_time_until: float = 0.0
    """Until then, by the awake clock, a start or stop goes on in order."""


class Report:
    """One daemon's; `now` is the awake clock's."""

    def __init__(self, notices: Notices, now: float) -> None:
        self.trouble = ""
        """Why the last reload was refused; empty once one was not."""
        self._notices = notices
        self._sign = now
        self._withheld = ""

    def tell(self, sight: Sight, now: float, *, at_once: bool = False) -> tuple[bool, float]:
        """Say what is due. Whether the line for people is news, and when to be called again at the latest."""
        changed = self._notices.status(status(sight, self.trouble), now, at_once=at_once)
        due = self._notices.extend(now) if now < sight.more_time_until else math.inf
        return changed, min(due, self._ping(sight, now))

    def _ping(self, sight: Sight, now: float) -> float:
        beats = (stamp.beat for slot, stamp in _pairs(sight) if slot.role is Role.STEWARD)
        self._sign = max(self._sign, *beats)
        hanging = hangs(sight, now, sign=self._sign)
        if hanging and not self._withheld:
            log.event("watchdog.withheld", reason=hanging)
        self._withheld = hanging
        return math.inf if hanging else self._notices.alive(now)


def _pairs(sight: Sight) -> list[tuple[Slot, Stamp]]:
    return list(zip(sight.slots, sight.stamps, strict=True))


def hangs(sight: Sight, now: float, *, sign: float) -> str:
    """What is beyond all that the parent mends itself, so that only a new daemon can help; empty: nothing.

    `sign`: when a steward last moved on. One that waits for a locked database does.
    """
    for slot in sight.slots:
        if slot.pid and now >= slot.doomed_at + MENDING:
            return f"{slot.role.value} {slot.index}, process {slot.pid}, was killed and does not end"
    at_work = sight.phase in (Phase.RUNNING, Phase.RELOADING)
    if at_work and now >= sign + plan.STEWARD_PATIENCE + MENDING:
        return f"no steward has looked at the database for {now - sign:.0f} s"
    return ""


def status(sight: Sight, trouble: str = "") -> str:
    """One line for people, in ASCII."""
    pairs = [(slot, stamp) for slot, stamp in _pairs(sight) if slot.role is Role.WORKER]
    workers = sum(1 for slot, _ in pairs if slot.wanted)
    if sight.phase is Phase.STARTING:
        up = sum(1 for slot, stamp in pairs if slot.pid and stamp.started)
        return (
            "starting, preparing the database"
            if sight.preparing
            else f"starting, {up} of {workers} workers up"
        )
    busy = sum(1 for slot, stamp in pairs if slot.pid and stamp.busy)
    if not sight.phase.works:
        return f"stopping, {busy} of {workers} workers still busy"
    parts = [f"{busy} of {workers} workers busy", f"{sight.ready} ready", f"{sight.dead} dead"]
    old = sum(1 for slot, _ in pairs if slot.pid and slot.generation != sight.generation)
    if old:
        parts.append(f"{old} still by the old configuration")
    failing = sum(1 for slot, stamp in _pairs(sight) if slot.wanted and slot.failures and not stamp.started)
    if failing:
        parts.append(f"{failing} of {workers + 1} processes cannot start")
    line = ", ".join(parts)
    return f"reload failed: {trouble}; {line}" if trouble else line
