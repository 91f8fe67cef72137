"""Nothing that a payload, a key or a command's output holds makes a record, a field or a line of the log."""

import json
from pathlib import Path

import pytest

from tests.support.daemon import Daemon

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
