"""The measurements run, and say what each was measured against."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.bench import peers

BENCH = Path(__file__).parents[2] / "scripts" / "bench"


@pytest.mark.timeout(120)
def test_a_group_tells_a_document_for_each_row() -> None:
    words = [str(BENCH), "--only", "enqueue", "--only", "claims", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    head, *rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert head["head"]["sqlite"]
    by_name = {(row["what"], row["against"]): row for row in rows}
    assert ("enqueue of one job", "python3 -c pass") in by_name
    assert ("claim + finish without a command, 2 processes", "a loop written by hand") in by_name
    for row in rows:
        assert row["reference"] > 0
        assert row["ratio"] == row["measured"] > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--only", "hopes"], "throughput, workers, claims"), (["--markdown", "/dev/null"], "each once")],
)
def test_what_cannot_be_done_is_said_before_anything_is_measured(words: list[str], said: str) -> None:
    done = subprocess.run([str(BENCH), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_command_that_fails_leaves_its_peer_without_a_rate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sh").write_text("#!/bin/false\n")
    (tmp_path / "sh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(peers.MissedJobsError, match="xargs exited with 123"):
        peers.xargs(3, 2)
