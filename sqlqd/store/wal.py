"""The write-ahead log as a file: how long it is, and what makes it whole again after a sync that failed."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import apsw

from sqlqd.identity import identity, open_files

_PIECE = 64 * 1024
"""Bytes written at once: SQLite's own files take less than 128 KiB."""


def size(database: Path) -> int:
    """Bytes of the log beside a database; 0 where there is none."""
    try:
        return _log_of(database).stat().st_size
    except OSError:
        return 0


def write_again(database: Path, waiting: Callable[[], None]) -> None:
    """Write the log's bytes over themselves and sync them; `waiting` is called at each piece.

    Only under the write lock, and by a process that has the database open. A kernel that could not write says
    so at one sync, and takes for written what never was: the next sync succeeds, and a commit that it covers
    lies behind a hole at which reading the log ends after a cut of the power. What is written again is
    written out again. The log needs no locks, and closing it ends none. Raises apsw.Error, OSError.
    """
    path = _log_of(database)
    if not _is_open_here(path):
        return
    log = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_READWRITE, 0])
    try:
        end = log.xFileSize()
        for at in range(0, end, _PIECE):
            waiting()
            log.xWrite(log.xRead(min(_PIECE, end - at), at), at)
        log.xSync(apsw.SQLITE_SYNC_NORMAL)
    finally:
        log.xClose()


def _log_of(database: Path) -> Path:
    """SQLite follows links before it names it."""
    return Path(f"{os.path.realpath(database)}-wal")


def _is_open_here(path: Path) -> bool:
    """Another database's, whose lock we do not have, may lie there by now."""
    with suppress(OSError):
        wanted = identity(path)
        return any(found == wanted for _, found in open_files())
    return False
