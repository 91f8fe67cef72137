"""A command that forks without end, as fast as it can, is ended at its timeout; nothing of it flies on."""

import sys
from pathlib import Path

import pytest

from tests.support.lone_worker import ROOT, LoneWorker

QUEUES = """
[queues.bomb]
command = ["{python}", "{comets}", "{number}", "{how}", "30"]
timeout = "500ms"
kill_grace = "200ms"
lease = "4s"
max_attempts = 1

[queues.relay]
command = "{python} {comets} {number} {how} 30 & sleep 0.3; exit 1"
kill_grace = "0s"
lease = "4s"
max_attempts = 2
backoff = {{ initial = "0s", jitter = 0.0 }}
"""


@pytest.mark.parametrize(("number", "how"), [("300", "same"), ("1", "apart"), ("10", "apart")])
def test_it_is_ended_at_its_timeout(tmp_path: Path, number: str, how: str) -> None:
    comets = ROOT / "tests" / "support" / "comets.py"
    text = QUEUES.format(python=sys.executable, comets=comets, number=number, how=how)
    with LoneWorker(tmp_path, text) as worker:
        job = worker.add("bomb")
        assert worker.ended(job, 45.0)["reason"] == "timeout after 0.5 s"
        assert not worker.events("tree.remains")
        assert not worker.events("job.lease_lost")
        assert Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text() == ""


def test_what_it_left_flying_is_ended_before_it_runs_again(tmp_path: Path) -> None:
    comets = ROOT / "tests" / "support" / "comets.py"
    text = QUEUES.format(python=sys.executable, comets=comets, number="8", how="apart")
    with LoneWorker(tmp_path, text) as worker:
        job = worker.add("relay")
        worker.event("job.dead", job)
        assert [one["exit_code"] for one in worker.events("job.failed", job)] == [1, 1]
        assert not worker.events("tree.remains")
        assert not _carrying(job)


def _carrying(job: str) -> list[Path]:
    return [entry for entry in Path("/proc").glob("[0-9]*") if job.encode() in _environment(entry)]


def _environment(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""
