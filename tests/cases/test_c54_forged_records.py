"""Nothing that a payload, a key or a command's output holds makes a record, a field or a line of the log."""

import json
from pathlib import Path

import pytest

from tests.support.daemon import Daemon
from tests.support.service import Service

FORGED = '{"level": "info", "event": "forged", "MESSAGE": "forged", "_PID": 1}'
HOSTILE = (
    FORGED,
    "MESSAGE=forged",
    "PRIORITY=0",
    "_PID=1",
    "SQLQD_EVENT=forged",
    "carriage\rreturn",
    "\x1b[2J\x1b[31mred",
    "nul\0byte",
    "line\u2028separator, next\u0085line",
    "\u202eoverride",
    "\x9b31mcontrol",
    "x" * 200_000,
)
QUEUES = """
[queues.hostile]
command = "cat; cat hostile >&2; exit 3"
cwd = "{home}"
max_attempts = 1
max_payload = "1MB"
payload_env = false
timeout = "20s"
env = {{ SECRET = "not to be told" }}
"""
LONGEST = 48 * 1024
"""Bytes; journald cuts longer lines."""


@pytest.mark.case("C54")
def test_each_record_is_one_line_of_json_and_says_what_happened(tmp_path: Path) -> None:
    (tmp_path / "hostile").write_text("\n".join(HOSTILE), encoding="utf-8")
    payload = "\n".join(HOSTILE).replace("\0", "")
    with Daemon(tmp_path, QUEUES.format(home=tmp_path)) as daemon:
        daemon.start()
        added = daemon.sqlqd("enqueue", "--key", FORGED, "--", "hostile", payload[:1000])
        job = added.stdout.strip()
        daemon.event("job.dead", job_id=job)
        assert daemon.stop() == 0
        written = (tmp_path / "daemon.log").read_bytes()
    assert all(len(line) < LONGEST for line in written.split(b"\n"))
    assert not set(written) & (set(range(32)) - {10})
    records = [json.loads(line) for line in written.decode("utf-8").splitlines()]
    assert "forged" not in {record["event"] for record in records}
    assert {record["pid"] for record in records}.isdisjoint({1})
    assert "not to be told" not in written.decode()


@pytest.mark.case("C54")
def test_no_field_of_the_journal_is_a_commands(service: Service) -> None:
    service.start(QUEUES.format(home=service.home))
    path = f"{service.home}/hostile"
    service.machine.write(path, "\n".join(HOSTILE))
    job = service.enqueue("hostile", "\n".join(HOSTILE[:5]), "--key", FORGED)
    service.record("job.dead", job_id=job)
    told = [entry for entry in service.entries() if "SQLQD_EVENT" in entry]
    assert "forged" not in {record["SQLQD_EVENT"] for record in told}
    assert "forged" not in {record["MESSAGE"] for record in told}
    assert "0" not in {record["PRIORITY"] for record in told}
    assert {int(record["_PID"]) for record in told}.isdisjoint({1})
    lines = [record["line"] for record in service.records("job.output", job_id=job)]
    for text in HOSTILE[:5]:
        assert lines.count(text) == 2, text
    assert "red" in "".join(str(line) for line in lines)
    shown = service.machine.good("journalctl", "--no-pager", "-o", "cat", f"_SYSTEMD_UNIT={service.unit}")
    assert "\x1b[2J" not in shown
