"""What SQLite and the system say, as the store's own errors: the only place that knows both."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import apsw

from sqlqd.store.failures import (
    JobRefused,
    StoreBusy,
    StoreDenied,
    StoreError,
    StoreFailed,
    StoreForeign,
    StoreMissing,
)

BUSY = (apsw.BusyError, apsw.LockedError, apsw.ProtocolError)
"""What passes by itself; the last is a race for the log that was lost too often."""


def explain(error: Exception, path: Path) -> StoreError:
    """The store's error for one of SQLite's or the system's, by its class: an injected one has no code."""
    if isinstance(error, StoreError):
        return error
    for classes, told in _BY_CLASS:
        if isinstance(error, classes):
            return told(error, path)
    return StoreFailed(f"{path}: {error}")


def broken_rule(text: str) -> str:
    """The rule of the schema that a row breaks, out of SQLite's message."""
    rule = text.partition("constraint failed: ")[2] or text
    if rule.startswith("jobs.id"):
        return "a job with this id is already there"
    if text.startswith("NOT NULL"):
        return f"{rule.removeprefix('jobs.')} must not be empty"
    return rule


def _busy(_: Exception, path: Path) -> StoreError:
    return StoreBusy(f"{path} stayed locked by others; nothing was changed, try again")


def _refused(error: Exception, _: Path) -> StoreError:
    return JobRefused(broken_rule(str(error)))


def _full(_: Exception, path: Path) -> StoreError:
    return StoreFailed(f"{path} cannot grow: the disk is full; make room and try again")


def _broken(error: Exception, path: Path) -> StoreError:
    """SQLite calls it an I/O error, too, where the log's index cannot grow."""
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return StoreFailed(f"{path}: {error}")
    return _full(error, path) if disk.f_bavail == 0 else StoreFailed(f"{path}: {error}")


def _system(error: Exception, path: Path) -> StoreError:
    number = error.errno if isinstance(error, OSError) else None
    if number in {errno.ENOSPC, errno.EDQUOT}:
        return _full(error, path)
    if number == errno.EROFS:
        return _denied(error, path)
    return StoreFailed(f"{path}: {getattr(error, 'strerror', None) or error}")


def _not_a_database(_: Exception, path: Path) -> StoreError:
    return StoreForeign(f"{path} is not an SQLite database; name another file")


def _damaged(error: Exception, path: Path) -> StoreError:
    return StoreFailed(f"{path} is damaged: {error}; stop the daemon and restore a backup")


def _cannot_open(error: Exception, path: Path) -> StoreError:
    if not path.parent.is_dir():
        return StoreMissing(f"the directory {path.parent} does not exist; make it first")
    if not path.exists():
        return StoreMissing(f"there is no database at {path}; `sqlqd run` and `sqlqd enqueue` make it")
    if path.is_dir():
        return StoreFailed(f"{path} is a directory; name a file in it")
    if not os.access(path, os.R_OK | os.W_OK) or not os.access(path.parent, os.W_OK | os.X_OK):
        return _denied(error, path)
    return StoreFailed(f"{path} cannot be opened; see that its disk is mounted and its directory writable")


def _read_only(error: Exception, path: Path) -> StoreError:
    for beside in (path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        if beside.exists() and not os.access(beside, os.W_OK):
            return StoreDenied(f"no permission to write {beside}; give it the mode and owner of {path.name}")
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return StoreFailed(f"{path} is read-only; see how its file system is mounted")
    return _denied(error, path)


def _denied(_: Exception, path: Path) -> StoreError:
    if _is_mounted_read_only(path.parent):
        return StoreFailed(f"{path} is on a file system that is mounted read-only; mount it for writing")
    from sqlqd import rights  # noqa: PLC0415 - only those who may not pay for it

    return StoreDenied(f"no permission to read and write {path}; {rights.to_change(path)}")


def _is_mounted_read_only(directory: Path) -> bool:
    try:
        return bool(os.statvfs(directory).f_flag & os.ST_RDONLY)
    except OSError:
        return False


_BY_CLASS: tuple[tuple[tuple[type[Exception], ...], Callable[[Exception, Path], StoreError]], ...] = (
    (BUSY, _busy),
    ((apsw.ConstraintError,), _refused),
    ((apsw.CantOpenError, FileNotFoundError, IsADirectoryError), _cannot_open),
    ((apsw.ReadOnlyError,), _read_only),
    ((apsw.PermissionsError, apsw.AuthError, PermissionError), _denied),
    ((apsw.FullError,), _full),
    ((apsw.IOError,), _broken),
    ((apsw.NotADBError,), _not_a_database),
    ((apsw.CorruptError,), _damaged),
    ((OSError,), _system),
)
