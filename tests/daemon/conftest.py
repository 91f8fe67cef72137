"""The real parent over small children that a test describes."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import Daemon

ROOT = Path(__file__).parents[2]


@pytest.fixture
def standin(tmp_path: Path) -> Iterator[Callable[..., Daemon]]:
    """Starts one: `how` is for `tests.support.standin`, `before` is shell that runs first."""
    made: list[Daemon] = []

    def make(
        *, ready: bool = True, before: str = "", env: Mapping[str, str] | None = None, **how: Any
    ) -> Daemon:
        program = [sys.executable, "-m", "tests.support.standin", str(tmp_path / "queue.db")]
        command = ("/bin/sh", "-c", f'{before} exec "$@"', "sh", *program)
        both = {"STANDIN": json.dumps(how), "PYTHONPATH": str(ROOT), **(env or {})}
        made.append(Daemon(tmp_path, command=command, env=both))
        return made[-1].start(ready=ready)

    yield make
    for daemon in made:
        daemon.__exit__(None, None, None)
