"""What a daemon is to run, and how one set of orders takes the place of another: plain values and decisions.

Orders are numbered by generation. Whoever was forked under older ones finishes the job that it has.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from sqlqd.parent import plan
from sqlqd.parent.phases import Phase
from sqlqd.parent.plan import Filling, Limits, Slot, Stamp
from sqlqd.seat import Child, Role

PATIENCE = 15.0
"""Seconds after which a reload is said to be over, whoever has not started yet; that goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What comes of one configuration."""

    children: Mapping[Role, Child]
    workers: int
    limits: Limits
    news: str = ""
    """What differs from the orders before, for people."""
    adopt: Callable[[], None] = lambda: None
    """Called in the parent once these orders hold, before anybody is forked by them."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A configuration that cannot be used."""

    reason: str
    """One line for the log, which says where and what to mend."""
    brief: str
    """The same for a status line: shorter, and the file by its name alone."""


def in_force(slots: Collection[Slot], stamps: Collection[Stamp], generation: int) -> bool:
    """Whether nobody can begin anything under older orders, and under these all have started who can."""
    room = plan.room(slots) > 0
    return not any(
        _is_awaited(slot, stamp, generation, room=room) for slot, stamp in zip(slots, stamps, strict=True)
    )


def _is_awaited(slot: Slot, stamp: Stamp, generation: int, *, room: bool) -> bool:
    if not slot.pid:
        return plan.filling(slot, Phase.RELOADING, room=room) is Filling.CHILD
    if slot.generation == generation:
        return not stamp.started
    # A turn that began before the worker was told to leave may yet claim.
    return slot.role is Role.STEWARD or not stamp.busy or 0.0 < stamp.turn <= slot.told_at


def together(limits: Iterable[Limits]) -> Limits:
    """The limits that hold while children of several generations are there."""
    every = list(limits)
    return Limits(
        drain=max((one.drain for one in every), default=0.0),
        shortest_lease=min((one.shortest_lease for one in every), default=math.inf),
    )
