"""What the simulation stands on: a file system in memory, a new database on it, and a silent log."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlqd import log
from sqlqd.store.sqlite import open_store
from tests.support.clocks import TwoHands


def memory() -> str | None:
    """A folder in memory; None: any will do."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


_made: list[bytes] = []


def template() -> bytes:
    """A new database's bytes: made once, by the product."""
    if not _made:
        with tempfile.TemporaryDirectory(dir=memory()) as folder:
            path = Path(folder) / "queue.db"
            open_store(path, TwoHands(), create=True).close()
            _made.append(path.read_bytes())
    return _made[0]


@contextmanager
def silent_log() -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """What is logged goes into a list."""
    told: list[tuple[str, dict[str, Any]]] = []
    real = log.event
    log.event = lambda name, /, **fields: told.append((name, fields))
    try:
        yield told
    finally:
        log.event = real
