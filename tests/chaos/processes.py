"""Finding the daemon's processes, and whatever it left, by /proc alone."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """A process, told from a later one of the same number by when it was born."""

    pid: int
    parent: int
    born: str
    state: str

    def signal(self, number: signal.Signals) -> bool:
        """Signal exactly it; False where it is gone."""
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(self.pid)
            try:
                again = find(self.pid)
                if again is not None and again.born == self.born:
                    signal.pidfd_send_signal(descriptor, number)
                    return True
            finally:
                os.close(descriptor)
        return False


def find(pid: int) -> Process | None:
    """The living process of that number."""
    # The name, in parentheses, may hold anything.
    fields = _read(PROC / str(pid) / "stat").rpartition(b")")[2].split()
    if not fields or fields[0] in (b"Z", b"X"):
        return None
    return Process(pid, int(fields[1]), fields[19].decode(), fields[0].decode())


def children(pid: int) -> list[Process]:
    """The living children of a process."""
    return [one for one in _everyone() if one.parent == pid]


def forks(pid: int) -> list[Process]:
    """Those children of a process that run the same program: the daemon's steward and workers.

    Each shows in its title what it does, the parent too: what they have in common is the program's file.
    """
    mine = _program(pid)
    return [child for child in children(pid) if mine is not None and _program(child.pid) == mine]


def _program(pid: int) -> tuple[int, int, bytes] | None:
    """What a process was started from and by: a shell's command runs another program by then."""
    try:
        found = (PROC / str(pid) / "exe").stat()
    except OSError:
        return None
    # A worker's title begins with its name, a command's words do not.
    name = _read(PROC / str(pid) / "comm").partition(b"-")[0].strip()
    return found.st_dev, found.st_ino, name


def marked(mark: str) -> list[Process]:
    """Every living process with `mark` in its environment."""
    wanted = mark.encode()
    return [one for one in _everyone() if wanted in _read(PROC / str(one.pid) / "environ").split(b"\0")]


def words(process: Process) -> str:
    """What it was started as, for people."""
    line = _read(PROC / str(process.pid) / "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
    return f"{process.pid} (child of {process.parent}, {process.state}) {line}"


def _everyone() -> Iterator[Process]:
    for entry in os.listdir(PROC):  # noqa: PTH208 - many times a second
        if entry.isdigit() and (one := find(int(entry))) is not None:
            yield one


def _read(path: Path) -> bytes:
    """A file of /proc, or nothing where its process is gone or another's."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
