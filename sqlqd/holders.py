"""Who has a database open, and who keeps its locks: by /proc alone, without opening any file of it."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlqd.clock import Clock, pause
from sqlqd.examine.storage import Process

_WRITER = 120
_READERS = range(123, 128)
"""Bytes of the -shm file that whoever writes, and those who read, have locked, in any version of SQLite."""

_LOOKS, _APART = 10, 0.05
"""Looks, and seconds between two: what our own processes hold, they hold for milliseconds."""

_BESIDE = ("", "-wal", "-shm")
_GONE = " (deleted)"


@dataclass(frozen=True, slots=True)
class Lock:
    """One record lock."""

    pid: int
    file: int
    """The number of the file."""
    writes: bool
    first: int
    last: int

    def covers(self, bytes_: range) -> bool:
        """Whether it is on one of them."""
        return self.first < bytes_.stop and self.last >= bytes_.start


@dataclass(frozen=True, slots=True)
class Kept:
    """Who had the same lock at every look."""

    readers: tuple[Process, ...] = ()
    writers: tuple[Process, ...] = ()
    watched: float = 0.0
    """Seconds from the first look to the last."""


@dataclass(frozen=True, slots=True)
class Opened:
    """Who has the files of a database open."""

    holders: tuple[Process, ...] = ()
    removed: tuple[Process, ...] = ()
    """Those of whom one is no longer at its path."""
    unseen: int = 0
    """How many processes could not be looked at."""


def locks(text: str) -> Iterator[Lock]:
    """Those of /proc/locks that are held; who waits for one is passed over."""
    for line in text.splitlines():
        words = line.split()
        if len(words) < 8 or words[1] not in ("POSIX", "OFDLCK"):  # noqa: PLR2004 - proc(5): eight fields
            continue
        with suppress(ValueError):
            file = int(words[5].rpartition(":")[2])
            last = (1 << 63) if words[7] == "EOF" else int(words[7])
            yield Lock(int(words[4]), file, words[3] == "WRITE", int(words[6]), last)


def keeping(database: Path, clock: Clock, wait: Callable[[float], None] = pause) -> Kept | None:
    """Who keeps its locks for as long as we look, half a second; None: that cannot be read.

    Of another container's processes the system says nothing. To be called while this process does not have
    the database open.
    """
    try:
        file = Path(f"{os.path.realpath(database)}-shm").stat().st_ino
    except FileNotFoundError:
        return Kept()
    except OSError:
        return None
    began = clock.awake()
    kept: frozenset[tuple[int, int]] | None = None
    for look in range(_LOOKS):
        if look:
            wait(_APART)
        try:
            text = Path("/proc/locks").read_text(encoding="ascii", errors="replace")
        except OSError:
            return None
        now = frozenset(_held(text, file))
        kept = now if kept is None else kept & now
        if not kept:
            return Kept()
    held = sorted(kept or ())
    readers = tuple(_process(pid) for pid in dict.fromkeys(pid for pid, byte in held if byte != _WRITER))
    writers = tuple(_process(pid) for pid, byte in held if byte == _WRITER)
    return Kept(readers, writers, clock.awake() - began)


def _held(text: str, file: int) -> Iterator[tuple[int, int]]:
    for lock in locks(text):
        if lock.file != file or lock.pid <= 0:
            continue
        if lock.writes and lock.covers(range(_WRITER, _WRITER + 1)):
            yield lock.pid, _WRITER
        if not lock.writes:
            yield from ((lock.pid, byte) for byte in _READERS if lock.covers(range(byte, byte + 1)))


def opened(database: Path) -> Opened:
    """Who has it, its log or its shared memory open; this process apart."""
    base = os.path.realpath(database)
    paths = {f"{base}{end}" for end in _BESIDE}
    holders: list[Process] = []
    removed: list[Process] = []
    unseen = 0
    for pid in _pids():
        try:
            links = set(_links(pid))
        except FileNotFoundError:
            continue
        except OSError:
            unseen += 1
            continue
        if links & paths:
            holders.append(_process(pid))
        if links & {path + _GONE for path in paths}:
            removed.append(_process(pid))
    return Opened(tuple(holders), tuple(removed), unseen)


def _links(pid: int) -> Iterator[str]:
    for link in Path(f"/proc/{pid}/fd").iterdir():
        # Closed a moment ago.
        with suppress(FileNotFoundError):
            yield os.fspath(link.readlink())


def _pids() -> list[int]:
    numbers = (int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal())
    return sorted(pid for pid in numbers if pid != os.getpid())


def _process(pid: int) -> Process:
    try:
        return Process(pid, Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip())
    except OSError:
        return Process(pid, "a process that ended")
