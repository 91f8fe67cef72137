"""Noticing commits to a database by anyone: inotify on its directory, and the looks that follow.

The notice of a commit comes before the commit can be seen when its writer waits for the disk. One look
at each notice would miss it, so looks follow at growing distances. Never opens the database.
"""

import ctypes
import math
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

LADDER = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
"""Seconds after the last notice at which to look."""

POLL_INTERVAL = 0.05
"""Seconds between looks where there are no notices."""

DEAF = 0.05
"""While every worker is busy notices are taken so often, in seconds: a busy worker claims again by itself."""

DULL = 0.0015
"""While somebody is idle they are taken so often: the look that follows the first one serves for them all."""

_RETRY = 5.0

_MODIFY, _CLOSE_WRITE = 0x2, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_OVERFLOW, _IGNORED = 0x4000, 0x8000
_ONLY_DIRECTORY = 0x1000000
_COMMITS = _MODIFY | _CLOSE_WRITE | _CREATE | _MOVED_TO
_REPLACES = _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
_WATCHED = _COMMITS | _REPLACES | _ONLY_DIRECTORY

_HEADER = struct.Struct("iIII")
"""struct inotify_event: watch, mask, cookie, length of the name."""

_BUFFER = 65_536


class Ladder:
    """When to look, after notices. A notice begins it anew and never puts off a look that is due sooner."""

    def __init__(self) -> None:
        self._noticed = -math.inf
        self._rung = len(LADDER)
        self.due = math.inf
        """When the next look is."""

    def notice(self, now: float) -> None:
        """Something may have been committed."""
        self._noticed, self._rung = now, 0
        self.due = min(self.due, now + LADDER[0])

    def looked(self, now: float) -> None:
        """A look was taken, whatever it found."""
        while self._rung < len(LADDER) and self._noticed + LADDER[self._rung] <= now:
            self._rung += 1
        self.due = self._noticed + LADDER[self._rung] if self._rung < len(LADDER) else math.inf


class Notices:
    """What the file system says of a database; readable at `fd` when there is something to `take`."""

    def __init__(self, database: Path) -> None:
        """Raises OSError where the system or the file system has no notices to give."""
        # SQLite follows links, and keeps its log beside the file itself.
        database = Path(os.path.realpath(database))
        self._database = os.fsencode(database.name)
        self._log = self._database + b"-wal"
        self.fd = _watch(database.parent)
        self.lost = False
        """The directory is gone, no further notice will come."""

    def take(self) -> tuple[bool, bool]:
        """Whether there may have been a commit, and whether the file may be another one; never waits.

        A checkpoint changes only the database's own file and is no commit: whoever makes checkpoints
        because of commits would otherwise wake itself.
        """
        committed = replaced = False
        try:
            data = os.read(self.fd, _BUFFER)
        except BlockingIOError:
            return False, False
        for mask, name in _events(data):
            if mask & _OVERFLOW:
                committed = replaced = True
            elif mask & _IGNORED:
                self.lost = committed = replaced = True
            elif name == self._log:
                committed = committed or bool(mask & _COMMITS)
            elif name == self._database and mask & _REPLACES:
                committed = replaced = True
        return committed, replaced

    def close(self) -> None:
        """Give up the notices."""
        os.close(self.fd)


class Attention:
    """When to look into the database, from notices where they can be had, else by the clock."""

    def __init__(self, database: Path, watch: Callable[[Path], Notices] = Notices) -> None:
        self._database = database
        self._watch = watch
        self._notices: Notices | None = None
        self._retry_at = -math.inf
        self._ladder = Ladder()
        self._deaf_until = -math.inf
        self._idle = True
        self.trouble = ""
        """Why there are no notices; empty while there are."""
        self.replaced = False
        """Set by a notice that the file may be another one; whoever looks into that clears it."""

    def listen(self, now: float, *, idle: bool) -> bool:
        """Take in notices; `idle`: somebody could be woken. Whether there may have been a commit."""
        self._idle = idle
        if self._notices is None and now >= self._retry_at:
            self._begin(now)
        heard = self._hear(now)
        if heard:
            self._ladder.notice(now)
        if not idle:
            # The rungs go by; those still ahead are for whoever is idle by then.
            self._ladder.looked(now)
        return heard

    def _begin(self, now: float) -> None:
        self._retry_at = now + _RETRY
        try:
            self._notices = self._watch(self._database)
        except OSError as error:
            self.trouble = error.strerror or str(error)
        else:
            self.trouble, self._deaf_until = "", -math.inf

    def _hear(self, now: float) -> bool:
        if now < self._deaf_until:
            return False
        if self._notices is None:
            self._deaf_until = now + POLL_INTERVAL
            return True
        committed, replaced = self._notices.take()
        self.replaced = self.replaced or replaced
        if self._notices.lost:
            self.close()
        if committed:
            self._deaf_until = now + (DULL if self._idle else DEAF)
        return committed

    def is_due(self, now: float) -> bool:
        """Whether to look now."""
        return self._ladder.due <= now

    def looked(self, now: float) -> None:
        """A look was taken."""
        self._ladder.looked(now)

    def deadline(self, now: float) -> float:
        """When to come back, whatever is heard until then."""
        listen = self._deaf_until if self._deaf_until > now else math.inf
        return min(listen, self._ladder.due) if self._idle else listen

    def descriptors(self, now: float) -> list[int]:
        """What to wait for until then."""
        return [self._notices.fd] if self._notices is not None and now >= self._deaf_until else []

    def close(self) -> None:
        """Give up the notices; `listen` asks for new ones."""
        if self._notices is not None:
            self._notices.close()
        self._notices, self._retry_at = None, -math.inf


def _events(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        _, mask, _, length = _HEADER.unpack_from(data, at)
        at += _HEADER.size
        yield mask, data[at : at + length].rstrip(b"\0")
        at += length


def _watch(directory: Path) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    if fd < 0:
        raise _error(directory)
    if libc.inotify_add_watch(fd, os.fsencode(directory), _WATCHED) < 0:
        error = _error(directory)
        os.close(fd)
        raise error
    return int(fd)


def _error(directory: Path) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), str(directory))
