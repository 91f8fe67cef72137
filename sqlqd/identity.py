"""Which file a path leads to, told by stat alone: to open and close a database would end locks on it."""

from pathlib import Path

Identity = tuple[int, int]
"""Device and number of a file."""


def identity(path: Path) -> Identity:
    """The file that the path leads to. Raises OSError where it leads to none that can be seen."""
    found = path.stat()
    return found.st_dev, found.st_ino


class Sighting:
    """The file at a path as it was seen last, while it was there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.file: Identity | None = None
        """None: it was never seen."""

    def replaced(self) -> bool:
        """Look again. Whether another file is there than was seen before."""
        try:
            now = identity(self._path)
        except OSError:
            return False
        before, self.file = self.file, now
        return before not in (None, now)
