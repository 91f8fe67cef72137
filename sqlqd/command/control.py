"""A command's own word: lines that it appends to the file that SQLQD_CONTROL names.

    retry-after 10m          try this job again then; it costs no attempt
    progress 40 encoding     how far it is, in percent, and what it does

One file for each worker, emptied between jobs: nothing of an earlier job lives to write to it.
"""

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sqlqd import units
from sqlqd.model import Progress

MOST = 64 * 1024
"""Bytes that are read at a look; of what is more, the newest."""

MOST_NAMED = 10
"""Lines of a run that are named although they mean nothing; the others are counted."""

_USUAL = "/tmp"  # noqa: S108 - the file is made exclusively
_LONGEST_WORD = 200
_SHOWN = 80
_YEAR = 31_557_600.0


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """Try again in so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line that means nothing, and why."""

    reason: str


Word = RetryAfter | Progress | Malformed


def parse(line: str) -> Word | None:
    """What one line says; None: it is blank."""
    verb, _, rest = line.strip().partition(" ")
    match verb:
        case "":
            return None
        case "retry-after":
            return _retry_after(rest)
        case "progress":
            return _progress(rest)
    return Malformed(f"neither retry-after nor progress: {line.strip()[:_SHOWN]}")


def _retry_after(rest: str) -> Word:
    try:
        seconds = units.duration(rest, bare=True)
    except ValueError as error:
        return Malformed(f"retry-after: {error}")
    if not 0 <= seconds <= _YEAR:
        return Malformed("retry-after: at most a year")
    return RetryAfter(seconds)


def _progress(rest: str) -> Word:
    number, _, text = rest.strip().partition(" ")
    try:
        percent = float(number.removesuffix("%"))
    except ValueError:
        percent = math.nan
    if not 0 <= percent <= 100:  # noqa: PLR2004 - percent
        return Malformed(f"progress: from 0 to 100, not {number[:_SHOWN]}")
    return Progress(percent, text.strip()[:_LONGEST_WORD])


def path_of(uid: str) -> Path:
    """Where a worker has its file."""
    wanted = os.environ.get("TMPDIR")
    if not wanted or not os.access(wanted, os.W_OK | os.X_OK):
        wanted = _USUAL
    return Path(wanted) / f"sqlqd-control-{uid}"


def forget(uid: str) -> None:
    """Take away the file of a worker that died."""
    try:
        path_of(uid).unlink()
    except OSError:
        return


class Control:
    """The file of one worker."""

    def __init__(self, uid: str) -> None:
        self.path = path_of(uid)
        self._fd = -1
        self._own = self._owner = (os.geteuid(), os.getegid())
        self._read = 0
        self._rest = b""
        self._unknown = 0

    def begin(self, owner: tuple[int, int] | None = None) -> Path | None:
        """Have it empty, and writable for that user and group; None: there is no room for such a file."""
        try:
            if self._fd < 0:
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                self._fd = os.open(self.path, flags, 0o600)
            if os.fstat(self._fd).st_size:
                os.ftruncate(self._fd, 0)
            wanted = owner or self._own
            if wanted != self._owner:
                os.fchown(self._fd, *wanted)
                self._owner = wanted
        except OSError:
            return None
        self._read, self._rest, self._unknown = 0, b"", 0
        return self.path

    def words(self, *, last: bool = False) -> list[Word]:
        """What was said since; `last`: also a line without an end."""
        if self._fd < 0:
            return []
        try:
            data, passed_over = self._unread()
        except OSError:
            return []
        *lines, rest = (self._rest + data).split(b"\n")
        # However long a line is that does not end, it is not all kept.
        self._rest = rest[:MOST]
        if last:
            lines.append(self._rest)
        parsed = (parse(line.decode(errors="replace")) for line in lines)
        words = self._named(word for word in parsed if word is not None)
        if passed_over:
            words.insert(
                0, Malformed(f"{passed_over} bytes at once are too many: only the last lines are read")
            )
        if last and self._unknown > MOST_NAMED:
            words.append(Malformed(f"{self._unknown - MOST_NAMED} more lines that mean nothing"))
        return words

    def _unread(self) -> tuple[bytes, int]:
        """What was written since, the newest where that is much; and how much was left out."""
        data = os.pread(self._fd, MOST, self._read)
        self._read += len(data)
        if len(data) < MOST or (left := os.fstat(self._fd).st_size - self._read) <= 0:
            return data, 0
        first = self._read + max(0, left - MOST)
        data = os.pread(self._fd, MOST, first)
        self._rest, passed_over = b"", MOST + first - self._read
        self._read = first + len(data)
        return data.partition(b"\n")[2], passed_over

    def _named(self, words: Iterable[Word]) -> list[Word]:
        named: list[Word] = []
        for word in words:
            self._unknown += isinstance(word, Malformed)
            if not isinstance(word, Malformed) or self._unknown <= MOST_NAMED:
                named.append(word)
        return named

    def close(self) -> None:
        """Take it away."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
            self.path.unlink(missing_ok=True)
