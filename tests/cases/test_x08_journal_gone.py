"""A journal that is stopped and started again, or stands still, costs records and no job."""

import pytest

from tests.support.service import Service

CHATTY = """
[queues.chatty]
command = "seq 20000"
timeout = "1min"
lease = "2s"

[queues.quiet]
command = "true"
timeout = "1min"
"""
JOURNALD = ("systemd-journald.socket", "systemd-journald-dev-log.socket", "systemd-journald.service")
HINDER = {
    "stopped": ("systemctl", "stop", *JOURNALD),
    "frozen": ("systemctl", "kill", "--signal=STOP", JOURNALD[-1]),
}
RELIEVE = {
    "stopped": ("systemctl", "start", *JOURNALD),
    "frozen": ("systemctl", "kill", "--signal=CONT", JOURNALD[-1]),
}


@pytest.mark.case("X08")
@pytest.mark.parametrize("how", ["stopped", "frozen"])
@pytest.mark.parametrize("form", ["auto", "json"])
def test_jobs_go_on_and_the_loss_is_told_of(service: Service, how: str, form: str) -> None:
    service.start(CHATTY, daemon=f'log_format = "{form}"')
    machine = service.machine
    machine.good(*HINDER[how])
    try:
        jobs = [service.enqueue("chatty") for _ in range(8)]
        for job in jobs:
            service.until_state(job, "done")
    finally:
        machine.good(*RELIEVE[how])
    assert service.restarts == 0
    if form == "auto":
        after = service.enqueue("quiet")
        service.record("job.finished", job_id=after)
        assert int(service.record("log.dropped")["count"]) > 0
    service.systemctl("stop")
    assert service.show("Result") == "success"
    assert service.show("ExecMainStatus") == "0"


@pytest.mark.case("X08")
def test_a_restarted_journal_is_written_to_as_before(service: Service) -> None:
    service.start(CHATTY)
    service.machine.good("systemctl", "restart", "systemd-journald.service")
    job = service.enqueue("quiet")
    service.record("job.finished", job_id=job)
