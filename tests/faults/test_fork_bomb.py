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
