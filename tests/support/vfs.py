"""File systems below SQLite that tests own, over the system's: one that writes down, one that fails.

Each is made the process's default, so that a store opens its file through it without knowing.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from tests.support.power import Change, Did

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

_BASE = "unix"
_LOGS = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_WAL
Before = Callable[[Change], None]


class Files(apsw.VFS):
    """The system's files. `before` is told of each change before it is made, and may raise instead."""

    def __init__(self, name: str, before: Before) -> None:
        self.before = before
        super().__init__(name, _BASE, makedefault=True)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001, N802 - SQLite's
        if Path(filename).exists():
            self.before(Change(Did.DELETE, filename))
            super().xDelete(filename, False)  # noqa: FBT003 - the call has no keywords
            if syncdir:
                self.before(Change(Did.NAME, filename))
        else:
            super().xDelete(filename, syncdir)


class _File(apsw.VFSFile):
    """One open file."""

    def __init__(self, files: Files, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._files = files
        self._name = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        # SQLite syncs the directory with a journal's or log's first sync.
        self._names_itself = bool(flags[0] & _LOGS)
        if self._name and not Path(self._name).exists():
            files.before(Change(Did.CREATE, self._name))
        super().__init__(_BASE, name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's
        self._files.before(Change(Did.WRITE, self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's
        self._files.before(Change(Did.TRUNCATE, self._name, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's
        self._files.before(Change(Did.SYNC, self._name))
        if self._names_itself:
            self._names_itself = False
            self._files.before(Change(Did.NAME, self._name))


class History:
    """Everything that is done to the files of one folder, in order, with what was said in between."""

    def __init__(self, folder: Path) -> None:
        self.events: list[Change | str] = []
        self.log_syncs = 0
        """So many there were of a log."""
        self.failing_sync = 0
        """The number of the one that fails."""
        self._folder = folder
        self._known: set[str] = set()
        self._by_sqlite: set[str] = set()
        """Names of files that SQLite made: it sees to their being on disk, but not to that of a database."""
        self._files = Files("history", self._note)
        self._sync = os.fsync
        os.fsync = self._fsync

    def say(self, what: str) -> None:
        """A moment to remember."""
        self.events.append(what)

    def _note(self, change: Change) -> None:
        path = Path(change.name)
        if path.parent != self._folder or path.name.endswith("-shm"):
            return
        if change.did is Did.NAME:
            self.events += [Change(Did.NAME, name) for name in sorted(self._by_sqlite)]
            return
        if change.did is Did.DELETE:
            self._known.discard(path.name)
        else:
            self._come_to_be(path.name)
        if change.did is Did.SYNC and path.name.endswith("-wal"):
            self.log_syncs += 1
            if self.log_syncs == self.failing_sync:
                self.events.append(Change(Did.SYNC_FAILED, path.name))
                raise apsw.IOError("planted: the disk did not take all that was written")
        if change.did is Did.CREATE:
            self._by_sqlite.add(path.name)
        else:
            self.events.append(change._replace(name=path.name))

    def _come_to_be(self, name: str) -> None:
        """The database is made by no call of SQLite's."""
        if name not in self._known:
            self._known.add(name)
            self.events.append(Change(Did.CREATE, name))

    def _fsync(self, fd: "FileDescriptorLike") -> None:
        """What the program itself syncs: a folder."""
        self._sync(fd)
        descriptor = fd if isinstance(fd, int) else fd.fileno()
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            for path in sorted(self._folder.iterdir()):
                if not path.name.endswith("-shm"):
                    self._come_to_be(path.name)
                    self.events.append(Change(Did.NAME, path.name))


class Failing:
    """Fails the n-th change while it is armed, or each from the n-th on."""

    def __init__(self) -> None:
        self.fired = False
        self._left = 0
        self._lasting = False
        self._error: type[apsw.Error] | None = None
        self._files = Files("failing", self._before)

    def arm(self, number: int, error: type[apsw.Error], *, lasting: bool) -> None:
        """From now on count; `lasting`: what failed once fails on."""
        self.fired, self._left, self._error, self._lasting = False, number, error, lasting

    def disarm(self) -> None:
        """Nothing fails."""
        self._error = None

    def _before(self, change: Change) -> None:
        if self._error is None or change.did not in {Did.WRITE, Did.TRUNCATE, Did.SYNC, Did.DELETE}:
            return
        self._left -= 1
        if self._left == 0 or (self._lasting and self._left < 0):
            self.fired = True
            raise self._error("planted: the disk does not take it")
