"""The power is cut at every write and sync of every verb: what was acknowledged is there, nothing is half.

What a cut leaves is always one moment of the queue's life, as a whole: none earlier than the last one that
was acknowledged, none later than the verb that was under way.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import pytest

from sqlqd.clock import SystemClock
from sqlqd.model import NewJob
from sqlqd.store.sqlite import open_store
from tests.support.lives import MANNERS, Contents, Recorded, contents, lived
from tests.support.power import Change, Disk

SEEDS = range(int(os.environ.get("SQLQD_TEST_SEEDS", "1")))
"""What survives by lot: more seeds, more lots."""

_MEMORY = Path("/dev/shm")


class Cut(NamedTuple):
    """A folder as a cut left it, while or after which verb, and the moments it may show."""

    where: str
    files: dict[str, bytes]
    moments: list[Contents]


def cuts(life: Recorded, seed: int) -> Iterator[Cut]:
    """Each cut in turn, each folder that it may leave; those that were already seen left out."""
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
        for files in disk.survivors(seed + number):
            key = (_digest(files), earliest, latest)
            if key not in seen:
                seen.add(key)
                yield Cut(f"{where}, change {number}", files, moments[earliest + 1 : latest + 2])


def _digest(files: dict[str, bytes]) -> bytes:
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.digest()


def restore(files: dict[str, bytes], folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder / "queue.db"


def integrity(path: Path) -> list[Any]:
    connection = apsw.Connection(str(path))
    try:
        return connection.execute("PRAGMA integrity_check").fetchall()
    finally:
        connection.close()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder whose files need not be synced: there are thousands of cuts to look at."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else tmp_path) as folder:
        yield Path(folder)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("manner", MANNERS)
def test_every_cut_leaves_one_whole_moment(memory: Path, manner: str, seed: int) -> None:
    life = lived("record", manner, memory / "life")
    assert isinstance(life, Recorded)
    checked = 0
    for cut in cuts(life, seed * 1_000_000):
        path = restore(cut.files, memory / "after")
        store = open_store(path, SystemClock(), create=None in cut.moments)
        found = contents(path)
        if None in cut.moments and found == life.contents[0]:
            # What was not there before is made anew.
            found = None
        assert found in cut.moments, f"{cut.where}: {_told(found)} is none of {[*map(_told, cut.moments)]}"
        assert integrity(path) == [("ok",)], cut.where
        again = store.enqueue([NewJob("mail", id="new")])[0]
        assert again.created, cut.where
        store.close()
        checked += 1
    changes = sum(isinstance(event, Change) for event in life.events)
    assert checked > changes > 300


def _told(found: Contents) -> object:
    return found and {name: [row[:1] for row in found[name]] for name in ("jobs", "dead_jobs", "done_jobs")}


def test_no_job_is_in_two_tables_at_any_moment(tmp_path: Path) -> None:
    life = lived("record", MANNERS[0], tmp_path / "life")
    assert isinstance(life, Recorded)
    for moment in life.contents:
        assert moment is not None
        live = {row[0] for row in moment["jobs"]}
        dead = {row[0] for row in moment["dead_jobs"]}
        done = {row[1] for row in moment["done_jobs"]}
        assert len(live | dead | done) == len(live) + len(dead) + len(done)
        keys = [(row[1], row[2]) for row in moment["jobs"] if row[2] is not None]
        assert len(keys) == len(set(keys))
