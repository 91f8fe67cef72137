"""Which file a path leads to, told by stat alone: to open and close a database would end locks on it."""

from pathlib import Path

Identity = tuple[int, int]
"""Device and number of a file."""


def identity(path: Path) -> Identity:
    """The file that the path leads to. Raises OSError where it leads to none that can be seen."""
    found = path.stat()
    return found.st_dev, found.st_ino
