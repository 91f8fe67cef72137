"""The small map that the daemon's processes share: what each child stamps, for the parent to read.

One row of whole numbers a slot, made before the first fork. Every cell is one aligned 64-bit word with
one writer, so that no reader sees half of it. It never holds anything of a job but its lease's end.
"""

import mmap
from enum import IntEnum

SLOTS = 1024
"""Slot 0 is the steward's; workers have the rest. A fixed number: a reload may add workers."""

_NANO = 1_000_000_000


class Cell(IntEnum):
    """What a slot says. Times are nanoseconds of the awake clock; 0: none."""

    UID = 0
    """The number of the fork that writes here: a row of an earlier one is not believed."""
    STARTED = 1
    """When it had opened the database and could work; 0: not yet."""
    BEAT = 2
    """When its loop last came round."""
    LEASE_END = 3
    """When the lease that it holds ends; 0: it holds none."""
    BUSY = 4
    """1 while a command runs or is being settled; the steward wakes only those with 0."""
    REPLACED = 5
    """The number of the newest dead predecessor whose lease it has ended."""
    LOOKED = 6
    """Steward: when it last read the database."""
    READY = 7
    """Steward: jobs that are due."""
    DEAD = 8
    """Steward: dead jobs."""
    DROPPED = 9
    """Log records that could not be written."""
    LEASE = 10
    """Length of the lease that it holds."""
    TURN = 11
    """Worker: when the turn of its loop began that is not over yet; 0: it waits, and holds no lock."""


_WIDTH = len(Cell)

_LASTING = (Cell.READY, Cell.DEAD)
"""What stays true until another steward counts anew."""


class Board:
    """The map. Made by the parent; children inherit it over fork."""

    def __init__(self, slots: int = SLOTS) -> None:
        self._map = mmap.mmap(-1, slots * _WIDTH * 8)
        self._cells = memoryview(self._map).cast("q")

    def put(self, slot: int, cell: Cell, value: int) -> None:
        """Stamp one cell."""
        self._cells[slot * _WIDTH + cell] = value

    def get(self, slot: int, cell: Cell) -> int:
        """Read one cell."""
        return self._cells[slot * _WIDTH + cell]

    def put_time(self, slot: int, cell: Cell, seconds: float) -> None:
        """Stamp a moment of the awake clock; 0.0 means none."""
        self.put(slot, cell, int(seconds * _NANO))

    def get_time(self, slot: int, cell: Cell) -> float:
        """A stamped moment in seconds of the awake clock; 0.0: none."""
        return self.get(slot, cell) / _NANO

    def clear(self, slot: int) -> None:
        """Forget what an earlier child of this slot stamped; only while the slot is empty."""
        for cell in Cell:
            if cell not in _LASTING:
                self.put(slot, cell, 0)
