"""Chaos: whatever is done to it, a job ends as it should and never runs twice at once."""

import os
import re
import subprocess
from pathlib import Path

import pytest

CHAOS = Path(__file__).parents[2] / "scripts" / "chaos"
SECONDS = float(os.environ.get("SQLQD_CHAOS_SECONDS", "10"))
"""A check of every change runs it for longer than a person who waits."""

ENDING = 300.0
"""Seconds that may pass once all harm is over, at the very most."""


@pytest.mark.timeout(SECONDS + ENDING + 10.0)
def test_nothing_is_lost_and_nothing_runs_twice_at_once() -> None:
    words = [str(CHAOS), "--seconds", str(SECONDS), "--seed", "1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS + ENDING, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing lost, nothing twice at once, nothing left behind" in done.stdout
    if SECONDS >= 30.0:
        # What harms nobody finds nothing.
        assert re.search(r"\d+ kill worker", done.stdout), done.stdout
        assert re.search(r"recovery: [1-9]\d* jobs", done.stdout), done.stdout
