"""A desk of its own for each test."""

from pathlib import Path

import pytest

from tests.support.shell import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An empty directory with a configuration of three queues: mail, json, small."""
    return Desk(tmp_path)
