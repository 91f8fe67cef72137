"""A few seconds of chaos: whatever dies, a job ends as it should and never runs twice at once."""

import subprocess
from pathlib import Path

import pytest

CHAOS = Path(__file__).parents[2] / "scripts" / "chaos"


@pytest.mark.timeout(170)
@pytest.mark.parametrize("more", [[], ["--parent"]], ids=["children", "parent-too"])
def test_nothing_is_lost_and_nothing_runs_twice_at_once(more: list[str]) -> None:
    words = [str(CHAOS), "--seconds", "6", "--seed", "1", *more]
    done = subprocess.run(words, capture_output=True, text=True, timeout=160.0, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing lost, nothing twice at once, nothing left behind" in done.stdout
