"""Cuts of the power in the midst of a queue's life: what each may leave, and what has to be there then."""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from sqlqd.clock import SystemClock
from sqlqd.model import NewJob
from sqlqd.store.sqlite import open_store
from tests.support.lives import Contents, Recorded, contents
from tests.support.power import Disk


class Cut(NamedTuple):
    """A folder as a cut left it, while or after which verb, and the moments it may show."""

    where: str
    files: dict[str, bytes]
    moments: list[Contents]


def cuts(life: Recorded, seed: int, *, between_verbs: bool = False) -> Iterator[Cut]:
    """Each cut in turn, each folder that it may leave; those that were already seen left out.

    `between_verbs`: only when one has returned, and only the folder that has nothing but what must be there.
    """
    disk, seen = Disk(), set[tuple[bytes, int, int]]()
    where, earliest, latest = "", -1, -1
    moments: list[Contents] = [None, *life.contents]
    for number, event in enumerate(life.events):
        if isinstance(event, str):
            where = event
            if not event.startswith("+"):
                latest += 1
            elif event[1:] in life.durable:
                earliest = latest
        else:
            disk.take(event)
        if between_verbs and not (isinstance(event, str) and event.startswith("+")):
            continue
        for files in disk.survivors(seed + number, barest_only=between_verbs):
            key = (_digest(files), earliest, latest)
            if key not in seen:
                seen.add(key)
                yield Cut(f"{where}, change {number}", files, moments[earliest + 1 : latest + 2])


def check(cut: Cut, life: Recorded, folder: Path) -> None:
    """That the queue goes on from one whole moment that it may show."""
    path = _restored(cut.files, folder)
    store = open_store(path, SystemClock(), create=None in cut.moments)
    found = contents(path)
    if None in cut.moments and found == life.contents[0]:
        # What was not there before is made anew.
        found = None
    assert found in cut.moments, f"{cut.where}: {_told(found)} is none of {[*map(_told, cut.moments)]}"
    assert _integrity(path) == [("ok",)], cut.where
    again = store.enqueue([NewJob("mail", id="new")])[0]
    assert again.created, cut.where
    store.close()


def _digest(files: dict[str, bytes]) -> bytes:
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.digest()


def _restored(files: dict[str, bytes], folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder / "queue.db"


def _integrity(path: Path) -> list[Any]:
    connection = apsw.Connection(str(path))
    try:
        return connection.execute("PRAGMA integrity_check").fetchall()
    finally:
        connection.close()


def _told(found: Contents) -> object:
    return found and {name: [row[:1] for row in found[name]] for name in ("jobs", "dead_jobs", "done_jobs")}
