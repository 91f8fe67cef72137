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


@cache
def _namespace_offset() -> float:
    """Seconds by which CLOCK_MONOTONIC is moved in this process's time namespace; most have none."""
    try:
        lines = Path("/proc/self/timens_offsets").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    offsets = (line.split() for line in lines)
    return sum(int(words[1]) + int(words[2]) / 1e9 for words in offsets if words[:1] == ["monotonic"])


class SystemClock:
    """The machine's own clock."""

    def wall(self) -> float:
        """Unix seconds."""
        return time.time()

    def awake(self) -> float:
        """Seconds of CLOCK_MONOTONIC as the machine counts them, whatever the container."""
        return time.monotonic() - _namespace_offset()

    def boot(self) -> str:
        """The kernel's boot id."""
        return _boot_id()


def pause(seconds: float) -> None:
    """Sleep, whatever clock is in use. For waits of at most milliseconds that nothing can cut short."""
    time.sleep(seconds)
