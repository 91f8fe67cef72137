"""A stop that reaches commands and all others at once costs no job an attempt."""

import os
import signal
from pathlib import Path

import pytest

from tests.support.daemon import Daemon
from tests.support.service import Service

QUEUES = """
[queues.stopped]
command = "trap 'exit 143' TERM; echo began; sleep $SQLQD_PAYLOAD & wait $!; echo ended"
max_attempts = 1
timeout = "1min"
"""


@pytest.mark.case("C52")
def test_as_shipped_the_commands_are_left_to_end(service: Service) -> None:
    service.start(QUEUES)
    assert service.show("KillMode") == "mixed"
    job = service.enqueue("stopped", "1")
    service.record("job.output", job_id=job)
    service.systemctl("restart")
    assert service.state(job) == "done"


@pytest.mark.case("C52")
def test_where_all_are_signalled_at_once_the_job_is_given_back(service: Service) -> None:
    service.unit_lines("KillMode=control-group")
    service.start(QUEUES)
    job = service.enqueue("stopped", "30")
    service.record("job.output", job_id=job)
    service.systemctl("stop")
    (waiting,) = service.jobs()
    assert (waiting["id"], waiting["state"], waiting["attempts"]) == (job, "ready", 0)


@pytest.mark.case("C52")
def test_ctrl_c_does_not_reach_the_command(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES) as daemon:
        daemon.start(start_new_session=True)
        job = daemon.insert("stopped", "0.5")
        daemon.event("job.output", job_id=job)
        os.killpg(daemon.pid, signal.SIGINT)  # what a terminal does to all of its foreground group
        assert daemon.ended() == 0
        assert daemon.events("job.finished", job_id=job)
