"""Output that begins like a syslog level is text: the levels in the journal are sqlqd's."""

import pytest

from tests.support.service import Service

QUEUES = r"""
[queues.loud]
command = "printf '<0>boom\\n<8>x\\n<3\\n'; printf '<1>alarm\\n' >&2"
timeout = "20s"

[queues.bad]
command = "echo '<0>not the cause'; exit 3"
max_attempts = 1
timeout = "20s"
"""


@pytest.mark.case("C53")
@pytest.mark.parametrize("form", ["auto", "json"])
def test_a_command_cannot_raise_an_alarm(service: Service, form: str) -> None:
    service.start(QUEUES, daemon=f'log_format = "{form}"')
    loud, bad = service.enqueue("loud"), service.enqueue("bad")
    service.until_state(loud, "done")
    service.until_state(bad, "dead")
    told = service.machine.journal(f"_SYSTEMD_UNIT={service.unit}")
    for text in ("<0>boom", "<8>x", "<3", "<1>alarm", "<0>not the cause"):
        assert any(text in record["MESSAGE"] for record in told), text
    assert {record["PRIORITY"] for record in told} <= {"3", "4", "5", "6"}


@pytest.mark.case("C53")
def test_what_is_of_level_error_is_what_went_wrong(service: Service) -> None:
    service.start(QUEUES)
    loud, bad = service.enqueue("loud"), service.enqueue("bad")
    service.record("job.finished", job_id=loud)
    service.record("job.dead", job_id=bad)
    errors = service.machine.good(
        "journalctl", "--no-pager", "--output=cat", "-p", "err", f"_SYSTEMD_UNIT={service.unit}"
    )
    (line,) = errors.splitlines()
    assert f"bad {bad[:8]} is dead: exit 3" in line
