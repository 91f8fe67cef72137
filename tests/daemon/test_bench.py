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


def _needed(peer: peers.Peer) -> None:
    if not peer.there():
        pytest.skip(f"{peer.name} is not installed ({peer.install})")


@pytest.mark.parametrize("peer", peers.ALL, ids=lambda peer: peer.name)
def test_each_peer_that_is_here_runs_all_it_is_given(peer: peers.Peer) -> None:
    _needed(peer)
    assert peer.rate(6, 2) > 0


@pytest.mark.parametrize("name", ["xargs", "task-spooler", "nq"])
def test_jobs_that_fail_leave_a_peer_without_a_rate(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = next(peer for peer in peers.ALL if peer.name == name)
    _needed(peer)
    shell = tmp_path / "sh"
    shell.write_text('#!/bin/sh\n[ "$2" != true ] || exit 3\nexec /bin/sh "$@"\n')
    shell.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(peers.MissedJobsError):
        peer.rate(4, 2)
