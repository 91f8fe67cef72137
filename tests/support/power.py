"""A disk without power: what a history of writes may have left on it.

Of a file the content as of its last sync is there, and of what was written since any part: each write, each
sector of one, or a torn piece. A name of a new file is sure only once its directory was synced for it, and
so is the end of a deleted one.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

_SECTOR = 512


class Did(Enum):
    """What happened to a file."""

    CREATE = "create"
    WRITE = "write"
    TRUNCATE = "truncate"
    SYNC = "sync"
    SYNC_FAILED = "a sync failed"
    NAME = "its name was synced"
    DELETE = "delete"


class Change(NamedTuple):
    """One thing that a program did to one file of its folder. `at`: the offset of data, or the new size."""

    did: Did
    name: str
    at: int = 0
    data: bytes = b""


@dataclass
class _File:
    synced: bytes = b""
    since: list[Change] = field(default_factory=list)

    def sync(self) -> None:
        """All that was written is on the disk."""
        content = bytearray(self.synced)
        for change in self.since:
            _apply(content, change.did, change.at, change.data)
        self.synced, self.since = bytes(content), []

    def forget(self) -> None:
        """The kernel could not write and has told so once: it holds for written what never will be."""
        self.since = [change for change in self.since if change.did is Did.TRUNCATE]


class Disk:
    """A folder's disk, as its program's changes come in one by one."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self._names: dict[str, list[_File | None]] = {}
        """What may stand under each name, beginning with what surely did once."""

    def take(self, change: Change) -> None:
        """One more change."""
        name = change.name
        match change.did:
            case Did.CREATE:
                self._files[name] = _File()
                self._names.setdefault(name, [None]).append(self._files[name])
            case Did.WRITE | Did.TRUNCATE:
                self._files[name].since.append(change)
            case Did.SYNC:
                self._files[name].sync()
            case Did.SYNC_FAILED:
                self._files[name].forget()
            case Did.NAME:
                self._names[name] = self._names[name][-1:]
            case Did.DELETE:
                del self._files[name]
                self._names[name].append(None)

    def survivors(self, seed: int, *, barest_only: bool = False) -> Iterator[dict[str, bytes]]:
        """Folders that a power cut at this moment may leave: the barest, the fullest, and some by lot."""
        yield self._survivor(_Lot(0.0, random.Random(seed)))
        if barest_only:
            return
        yield self._survivor(_Lot(1.0, random.Random(seed)))
        for number, likely in enumerate((0.2, 0.5, 0.8)):
            yield self._survivor(_Lot(likely, random.Random(seed * 3 + number)))

    def _survivor(self, lot: "_Lot") -> dict[str, bytes]:
        found = {name: lot.one_of(versions) for name, versions in self._names.items()}
        return {name: lot.content(file) for name, file in found.items() if file is not None}


class _Lot:
    """Who draws what reached the disk; `likely` is the chance of each piece, 0 and 1 leave none."""

    def __init__(self, likely: float, rng: random.Random) -> None:
        self._likely = likely
        self._rng = rng

    def one_of(self, versions: list[_File | None]) -> _File | None:
        if self._likely in (0.0, 1.0):
            return versions[-int(self._likely)]
        return self._rng.choice(versions)

    def content(self, file: _File) -> bytes:
        content = bytearray(file.synced)
        for change in file.since:
            for at, data in self._pieces(change):
                _apply(content, change.did, at, data)
        return bytes(content)

    def _pieces(self, change: Change) -> Iterator[tuple[int, bytes]]:
        if self._likely in (0.0, 1.0) or change.did is Did.TRUNCATE:
            if self._rng.random() < self._likely:
                yield change.at, change.data
        elif self._rng.random() < 0.5:
            # In order, and torn somewhere.
            length = len(change.data) if self._rng.random() < self._likely else self._cut(change.data)
            yield change.at, change.data[:length]
        else:
            for start in range(0, len(change.data), _SECTOR):
                if self._rng.random() < self._likely:
                    yield change.at + start, change.data[start : start + _SECTOR]

    def _cut(self, data: bytes) -> int:
        return self._rng.randint(0, len(data))


def _apply(content: bytearray, did: Did, at: int, data: bytes) -> None:
    if did is Did.TRUNCATE:
        del content[at:]
    if len(content) < at:
        content.extend(bytes(at - len(content)))
    content[at : at + len(data)] = data
