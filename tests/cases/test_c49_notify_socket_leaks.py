"""What systemd tells the daemon is the daemon's alone: no command sees it or speaks for it."""

import os
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.daemon import SQLQD, Daemon
from tests.support.service import Service

OURS = ("NOTIFY_SOCKET", "WATCHDOG_", "LISTEN_", "JOURNAL_STREAM", "INVOCATION_ID", "MAINPID")

SPEAKERS = """
[queues.speaker]
command = "systemd-notify --status=hacked STOPPING=1; systemd-notify --reloading; env; echo spoken"
timeout = "20s"
"""


@pytest.mark.case("C49")
@pytest.mark.parametrize("access", ["main", "all"])
def test_a_command_has_nothing_of_systemds_and_cannot_speak_for_the_daemon(
    service: Service, access: str
) -> None:
    service.unit_lines(f"NotifyAccess={access}", "WatchdogSec=20", "Environment=OF_THE_UNIT=kept")
    service.start(SPEAKERS)
    job = service.enqueue("speaker")
    service.record("job.finished", job_id=job)
    said = [record["line"] for record in service.records("job.output", job_id=job)]
    assert "spoken" in said
    assert "OF_THE_UNIT=kept" in said
    assert [line for line in said if line.startswith(OURS)] == []
    assert "hacked" not in service.show("StatusText")
    assert service.show("ActiveState") == "active"


@pytest.mark.case("C49")
@pytest.mark.parametrize("kind", ["missing", "stuck", "abstract, gone"])
def test_a_socket_that_takes_nothing_holds_nobody_up(tmp_path: Path, kind: str) -> None:
    address = (
        f"@sqlqd-gone-{os.urandom(8).hex()}" if kind.startswith("abstract") else str(tmp_path / "notify")
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stuck:
        if kind == "stuck":
            stuck.bind(address)
            fill(address)
        told = ("env", f"NOTIFY_SOCKET={address}", *SQLQD, "-c", str(tmp_path / "sqlqd.toml"), "run")
        with Daemon(tmp_path, '[queues.quick]\ncommand = "true"\n', command=told) as daemon:
            daemon.start(ready=False).event("daemon.ready")
            job = daemon.insert("quick")
            daemon.event("job.finished", job_id=job)
            assert daemon.stop() == 0


def fill(address: str) -> None:
    """Send until the reader, who never reads, has no room left."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, suppress(BlockingIOError):
        sender.settimeout(0)
        while sender.sendto(b"x", address):
            pass
