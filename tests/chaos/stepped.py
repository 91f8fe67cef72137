"""sqlqd on a machine whose wall clock is stepped: `python -m tests.chaos.stepped …` is `sqlqd …`.

Everything is the real thing but for one method: SystemClock.wall adds what the file named by CHAOS_CLOCK
holds, eight bytes that another process may change at any moment.
"""

import mmap
import os
import struct
import sys
import time
from pathlib import Path

from sqlqd.cli import main
from sqlqd.clock import SystemClock

_FORMAT = "=d"


def set_offset(clock: Path, seconds: float) -> None:
    """Step the clock of everybody who uses the file."""
    descriptor = os.open(clock, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.pwrite(descriptor, struct.pack(_FORMAT, seconds), 0)
    finally:
        os.close(descriptor)


def use(clock: Path) -> None:
    """Let this process, and those it forks, go by that clock."""
    with clock.open("rb") as file:
        offset = memoryview(mmap.mmap(file.fileno(), 8, prot=mmap.PROT_READ)).cast("d")

    def wall(self: SystemClock) -> float:
        return time.time() + offset[0]

    SystemClock.wall = wall  # type: ignore[method-assign] # this is what this module is for


if __name__ == "__main__":
    use(Path(os.environ["CHAOS_CLOCK"]))
    sys.argv[0] = "sqlqd"
    main()
