"""Time, as a value that is passed in: the only module that asks the system for it.

Three hands. `wall` is what rows carry and people read; it can step. `awake` (CLOCK_MONOTONIC) is one
for all processes of a machine and stands still while it sleeps: leases, timeouts and waits are
measured by it. `boot` names the boot that `awake` counts from.
"""

import time
from functools import cache
from pathlib import Path
from typing import Protocol


class Clock(Protocol):
    """What sqlqd may know of time."""

    def wall(self) -> float:
        """Unix seconds."""
        ...

    def awake(self) -> float:
        """Seconds since boot, without those asleep; comparable between processes of one boot."""
        ...

    def boot(self) -> str:
        """The id of the boot that `awake` belongs to."""
        ...


@cache
def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


class SystemClock:
    """The machine's own clock."""

    def wall(self) -> float:
        """Unix seconds."""
        return time.time()

    def awake(self) -> float:
        """Seconds of CLOCK_MONOTONIC."""
        return time.monotonic()

    def boot(self) -> str:
        """The kernel's boot id."""
        return _boot_id()


def pause(seconds: float) -> None:
    """Sleep, whatever clock is in use. For waits of at most milliseconds that nothing can cut short."""
    time.sleep(seconds)
