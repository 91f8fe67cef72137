"""The room on a file system, and when it is too little for anything to be written."""

from dataclasses import dataclass

_NOTHING = 1024 * 1024
"""Bytes: a transaction of a few jobs, with the log's index beside it, needs as much."""


@dataclass(frozen=True, slots=True)
class Space:
    """The room on it for whoever is not root."""

    free: int
    total: int
    files: int | None
    """How many more files it takes; None: as many as there is room for."""

    @property
    def full(self) -> bool:
        """Whether jobs can hardly be added, claimed or ended any more."""
        return self.free < _NOTHING
