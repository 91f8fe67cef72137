"""What tests of broken disks share."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_MEMORY = Path("/dev/shm")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder whose files need not be synced: there are thousands of cuts to look at."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else tmp_path) as folder:
        yield Path(folder)
