"""Who lives on a database: record locks on the side file `<database>.lock`. Never opens the database.

A daemon's parent holds the byte that has its pid for a number, another one far behind that where a hangup
stops it, and a third once it stops; the one steward that does the chores holds byte 0. The locks end with
their process, whatever ends it, and do not cross a fork. Closing any descriptor of the file ends all locks
that the process has there, so a process has one `Presence`.
"""

import errno
import fcntl
import os
import struct
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_CHORES = 0
_MODE = 0o660
_TAKEN = (errno.EACCES, errno.EAGAIN)
_BEHIND_EVERY_PID = 1 << 22  # the kernel's highest pid_max
_STOPPING = 1 << 23
"""The byte of a daemon that stops is so far behind its first."""
_BY_HANGUP = 1 << 24
"""And so far the byte of one that a hangup stops."""

_FLOCK = "hhqqi4x"
"""struct flock: type, whence, start, length, pid."""


def side_file(database: Path) -> Path:
    """Where the locks of a database are: beside the file itself, whatever links lead there."""
    return Path(f"{os.path.realpath(database)}.lock")


class Presence:
    """This process's own locks on the side file, which is made where there is none."""

    def __init__(self, database: Path) -> None:
        """Raises OSError where the side file cannot be made or written."""
        self._path = side_file(database)
        self._fd = _open(self._path)
        self._held: set[int] = set()

    def announce(self, pid: int, *, hangup_stops: bool = False) -> bool:
        """Let others see this daemon; False where another one has the same pid (in another container).

        `hangup_stops`: SIGHUP ends it, so that nobody is told to reload it by that.
        """
        if hangup_stops:
            self._hold(_BY_HANGUP + pid)
        return self._hold(pid)

    def stop(self, pid: int) -> None:
        """Let others see that this daemon gives out no more jobs; may be repeated."""
        if _STOPPING + pid not in self._held:
            self._hold(_STOPPING + pid)

    def elect(self) -> bool:
        """Whether this process is the one to do the chores; asked again and again."""
        return _CHORES in self._held or self._hold(_CHORES)

    def living(self) -> list[int]:
        """The pids of the daemons on the file that other processes announced."""
        return _living(self._fd)

    def renew(self) -> bool:
        """Go over to a new side file where the old one was removed or replaced. True: it was."""
        with suppress(FileNotFoundError):
            if os.path.samestat(self._path.stat(), os.fstat(self._fd)):
                return False
        fresh = _open(self._path)
        os.close(self._fd)
        self._fd = fresh
        wanted, self._held = self._held - {_CHORES}, set()
        for byte in wanted:
            self._hold(byte)
        return True

    def close(self) -> None:
        """Give up the file and every lock on it."""
        os.close(self._fd)

    def _hold(self, byte: int) -> bool:
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except OSError as error:
            if error.errno in _TAKEN:
                return False
            raise
        self._held.add(byte)
        return True


def living(database: Path) -> list[int]:
    """The pids of the daemons on a database, for a process that has no `Presence` on it.

    Raises OSError where the side file cannot be read.
    """
    return _read(database, _living)


def stopping(database: Path) -> list[int]:
    """Those of them that give out no more jobs; by the same rules."""
    return _read(database, lambda fd: [byte - _STOPPING for byte in _held(fd, _STOPPING, 2 * _STOPPING)])


def stopped_by_hangup(database: Path) -> list[int]:
    """Those of them that SIGHUP stops; by the same rules."""
    return _read(database, lambda fd: [byte - _BY_HANGUP for byte in _held(fd, _BY_HANGUP, 2 * _BY_HANGUP)])


def _read(database: Path, look: Callable[[int], list[int]]) -> list[int]:
    try:
        fd = os.open(side_file(database), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    try:
        return look(fd)
    finally:
        os.close(fd)


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        fd = os.open(path, flags | os.O_CREAT | os.O_EXCL, _MODE)
    except FileExistsError:
        return os.open(path, flags)
    os.fchmod(fd, _MODE)  # whatever the umask: the group may run daemons and read who does
    return fd


def _living(fd: int) -> list[int]:
    return _held(fd, _CHORES + 1, _BEHIND_EVERY_PID + 1)


def _held(fd: int, first: int, limit: int) -> list[int]:
    """The bytes from `first` and before `limit` that one lock each is on.

    The kernel names one lock of a range at a time: the bytes before and behind it are asked for next.
    """
    found: list[int] = []
    ranges = [(first, limit)]
    while ranges:
        start, end = ranges.pop()
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, start, end - start, 0)
        kind, _, at, length, _ = struct.unpack(_FLOCK, fcntl.fcntl(fd, fcntl.F_GETLK, asked))
        if kind == fcntl.F_UNLCK:
            continue
        behind = at + length if length else end  # 0: a stranger's lock, on all that follows
        if length == 1:
            found.append(at)
        ranges.extend((low, high) for low, high in ((start, at), (behind, end)) if low < high)
    return sorted(found)
