"""What a child is given at its fork: its slot, its names, and the ends of the pipes that are its own."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from sqlqd.board import Board
from sqlqd.identity import Identity


class Role(Enum):
    """What a child of the parent is for."""

    STEWARD = "steward"
    WORKER = "worker"


@dataclass(frozen=True, slots=True)
class Seat:
    """One child's place. `number` is new at every fork of the daemon; `uid` is new in all the world."""

    role: Role
    slot: int
    number: int
    uid: str
    replaces: tuple[tuple[int, str], ...]
    """(number, uid) of dead predecessors whose leases nobody has ended yet."""
    parent_pid: int
    parent_pidfd: int
    """Readable once the parent is gone."""
    wake_fd: int
    """Readable when there may be something to do; non-blocking."""
    wakers: tuple[int, ...]
    """Write ends of every worker slot's wake-up pipe, by slot - 1; non-blocking. The steward's tools."""
    board: Board
    file: Identity | None = None
    """The database that the daemon works on: no worker claims from another before the parent saw it."""
    paused: bool = False


Child = Callable[[Seat], int]
"""What runs in a slot; its result is the process's exit status."""


class ChildExit:
    """Exit statuses that tell the parent something; anything else is a crash."""

    IN_ORDER = 0
    CANNOT_START = 3
    """Trying again at once cannot help; the reason was logged by the child."""
