"""The database file that a daemon works on, and what is to be waited for when another takes its place."""

from collections.abc import Collection
from pathlib import Path

from sqlqd import relics
from sqlqd.identity import Identity, identity
from sqlqd.parent import plan
from sqlqd.parent.plan import Slot

PATIENCE = plan.LONGEST_LOOK + plan.END_PATIENCE + plan.STRAY_PATIENCE
"""Seconds after which every daemon has noticed, and has ended what it had of the old file."""

LOOKS = 0.1
"""Seconds between looks at who is still at work on the old file."""


class Succession:
    """One daemon's files, one after another. `now` is the awake clock's."""

    def __init__(self, path: Path) -> None:
        self.file: Identity | None = None
        """The one that was seen last, while it was there; None: there never was one."""
        self._path = path
        self._old: set[Identity] = set()
        self._until = 0.0

    def begins(self, now: float) -> bool:
        """Look. Whether another file is there than was seen before."""
        try:
            found = identity(self._path)
        except OSError:
            # It may come back.
            return False
        before, self.file = self.file, found
        if before is None or before == found:
            return False
        self._old.add(before)
        self._until = now + PATIENCE
        return True

    def is_awaited(self, slots: Collection[Slot], now: float) -> bool:
        """Whether somebody, of whichever daemon, may still be at work on a file that was replaced."""
        if not self._old or plan.clearing(slots):
            return bool(self._old)
        self._old = {one for one in self._old if now < self._until and relics.at_work_on(one)}
        return bool(self._old)
