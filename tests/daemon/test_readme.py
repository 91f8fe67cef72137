"""The README's tour, typed to the letter: what it shows is what happens, but for ids, times and names."""

import os
import sys
from pathlib import Path

import pytest

from tests.support.tour import plain, steps, walk

ROOT = Path(__file__).parents[2]


def tour() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return text.partition("\n## A tour")[2].partition("\n## ")[0]


@pytest.mark.timeout(120)
def test_the_tour_prints_what_the_readme_shows(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environ = {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", "TERM": "xterm", "TZ": "UTC"}
    for step, printed in walk(tour(), ROOT, environ):
        shown, real = plain(step.shown, str(home)), plain(printed, str(home))
        if step.terminal == "console daemon":
            shown, real = sorted(shown), sorted(real)
        assert real == shown, f"after {step.command!r} it printed:\n" + "\n".join(printed)


def test_the_tour_is_there() -> None:
    assert len(list(steps(tour()))) > 10
