"""A copy of the database as it is at one moment, while everything runs: whole at its name, or not there."""

import os
import stat
from contextlib import suppress
from pathlib import Path

import apsw

from sqlqd.identity import identity
from sqlqd.store.database import Database, sync_directory
from sqlqd.store.errors import BUSY, explain
from sqlqd.store.failures import StoreError, StoreFailed, StoreMissing

_PAGES = 1024
"""Copied in one step: some milliseconds, after which signals are heard."""

_RIGHTS = 0o660
"""What a copy may have of the database's permissions."""

_BESIDE = ("-wal", "-shm", "-journal")

# Whoever held them has nothing to do with the copy. Of no boot, they are over wherever the copy is used, and
# as after a reboot that is nobody's crash. A row that is past the schema's checks stays as it is.
_END_LEASES = """
UPDATE OR IGNORE jobs SET lease_boot = 'none: this is a copy'
WHERE locked_by IS NOT NULL AND lost = 0 AND lease_boot IS NOT NULL
"""

_FORGET_PROCESSES = ("DELETE FROM sqlqd_workers", "DELETE FROM sqlqd_daemons")


def backup(database: Database, target: Path, *, replace: bool) -> int:
    """Copy it to `target`, on disk when this returns; its bytes. Without `replace` what is there stays.

    Raises StoreError; nothing is left at `target` then but what was there.
    """
    try:
        _insist_on_room_at(target, database, replace=replace)
        part = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
        try:
            _make(part)
            _fill(part, database)
            size = _finish(part, database)
            _publish(part, target, replace=replace)
        finally:
            for path in (part, *(_beside(part, end) for end in _BESIDE)):
                with suppress(FileNotFoundError):
                    path.unlink()
        sync_directory(target.parent)
    except UnicodeEncodeError as error:
        raise StoreFailed(f"{target} is no name for SQLite: it is not UTF-8; choose another") from error
    except FileExistsError as error:
        raise _taken(target) from error
    except (apsw.CorruptError, *BUSY) as error:
        raise explain(error, database.path) from error
    except apsw.IOError as error:
        raise StoreFailed(f"{target} could not be written; see `df {target.parent}` and `dmesg`") from error
    except (apsw.Error, OSError) as error:
        raise explain(error, target) from error
    return size


def _insist_on_room_at(target: Path, database: Database, *, replace: bool) -> None:
    if not target.parent.is_dir():
        raise StoreMissing(f"the directory {target.parent} does not exist; make it first")
    if target.is_dir():
        raise StoreError(f"{target} is a directory; name a file in it")
    with suppress(FileNotFoundError):
        if identity(target) == database.identity:
            raise StoreError(f"{target} is the database itself; name another file")
        if not replace:
            raise _taken(target)
    if any(os.path.lexists(_beside(target, end)) for end in _BESIDE):
        raise StoreError(
            f"{target} is a database that is in use, or was not closed: {target.name}-wal or the like is "
            "beside it; name another file"
        )


def _taken(target: Path) -> StoreError:
    return StoreError(f"{target} is already there and was not touched; --force writes over it")


def _make(part: Path) -> None:
    """For nobody else's eyes until it has the database's group."""
    os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _fill(part: Path, database: Database) -> None:
    copy = apsw.Connection(os.fspath(part), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        database.copy_into(copy, pages=_PAGES)
        # An application's own, which mean its work and not ours.
        copy.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        with copy:
            copy.execute(_END_LEASES)
            for statement in _FORGET_PROCESSES:
                copy.execute(statement)
    finally:
        copy.close()


def _finish(part: Path, database: Database) -> int:
    """On disk, and as open to others as the database is."""
    if _beside(part, "-wal").exists():
        raise StoreFailed(f"{part} could not be closed; is the disk full?")
    like = database.path.stat()
    descriptor = os.open(part, os.O_RDWR | os.O_CLOEXEC)
    try:
        mode = stat.S_IMODE(like.st_mode) & _RIGHTS
        try:
            os.fchown(descriptor, -1, like.st_gid)
        except PermissionError:
            # Another group than the database's has no business with it.
            mode &= ~stat.S_IRWXG
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def _publish(part: Path, target: Path, *, replace: bool) -> None:
    """Give it its name. Raises FileExistsError where somebody else was faster and is not to be replaced."""
    if replace:
        part.replace(target)
        return
    try:
        os.link(part, target, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        # A file system without links.
        if os.path.lexists(target):
            raise _taken(target) from None
        part.rename(target)


def _beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)
