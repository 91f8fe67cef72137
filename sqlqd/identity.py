"""Which file a path leads to, told by stat alone: to open and close a database would end locks on it."""

from collections.abc import Iterator
from pathlib import Path

Identity = tuple[int, int]
"""Device and number of a file."""


def identity(path: Path) -> Identity:
    """The file that the path leads to. Raises OSError where it leads to none that can be seen."""
    found = path.stat()
    return found.st_dev, found.st_ino


def open_files(pid: int | str = "self") -> Iterator[tuple[Path, Identity]]:
    """The files that a process has open, each with the link in /proc that leads to it.

    Raises OSError where the process cannot be looked at.
    """
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found = identity(link)
        except OSError:
            continue
        yield link, found
