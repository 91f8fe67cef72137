"""No signal goes to a number that is another's by now: a process that was waited for, or its group."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.case("C24")
def test_commands_that_end_when_their_time_does() -> None:
    words = [sys.executable, "-m", "tests.support.boundary", "200", "1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=50.0, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["strays"] == []
    assert found["noticed"] == 1
    # Both kinds of end are met, and signals sent at all.
    assert min(found["ends"]["timeout"], found["ends"]["exited"]) >= 20
    assert min(found["sent"]["kill"], found["sent"]["killpg"]) >= 20
