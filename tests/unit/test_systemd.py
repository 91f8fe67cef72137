"""Notices over a real socket."""

import math
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sqlqd import systemd


@pytest.fixture
def listener(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(tmp_path / "notify"))
        receiver.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        yield receiver


def test_notices_arrive(listener: socket.socket) -> None:
    notices = systemd.take()
    assert notices.heard
    notices.ready()
    notices.status("2 of 4 workers busy", 1.0)
    notices.stopping()
    assert [listener.recv(100) for _ in range(3)] == [
        b"READY=1",
        b"STATUS=2 of 4 workers busy",
        b"STOPPING=1",
    ]
    notices.close()


def test_text_beyond_ascii_is_not_lost(listener: socket.socket) -> None:
    notices = systemd.take()
    notices.status("queue → 3 jobs", 1.0)
    assert listener.recv(100) == b"STATUS=queue ? 3 jobs"
    notices.close()


def test_status_is_said_when_it_is_news_and_once_a_second(listener: socket.socket) -> None:
    notices = systemd.take()
    assert notices.status("a", 10.0)
    assert not notices.status("a", 20.0)
    assert notices.status("b", 20.1)
    assert notices.status("c", 20.2)
    assert notices.status("d", 21.2)
    notices.close()
    assert [listener.recv(100) for _ in range(3)] == [b"STATUS=a", b"STATUS=b", b"STATUS=d"]
    listener.settimeout(0)
    with pytest.raises(BlockingIOError):
        listener.recv(100)


def test_a_listener_that_does_not_read_holds_nobody_up(listener: socket.socket) -> None:
    notices = systemd.take()
    for number in range(2000):
        notices.status(f"{number:0200}", float(number))
    assert listener.recv(300).startswith(b"STATUS=")
    notices.close()


def test_ready_is_not_lost_on_a_listener_that_is_slow(listener: socket.socket) -> None:
    notices = systemd.take()
    for number in range(2000):
        notices.status(f"{number:0200}", float(number))
    notices.ready()
    listener.settimeout(0)
    assert b"READY=1" not in waiting(listener)
    assert notices.status("news", 5000.0)
    assert waiting(listener) == [b"READY=1", b"STATUS=news"]
    notices.close()


def waiting(listener: socket.socket) -> list[bytes]:
    """All messages that have come."""
    told = []
    with suppress(BlockingIOError):
        while True:
            told.append(listener.recv(300))
    return told


def test_without_a_listener_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notices = systemd.take()
    assert not notices.heard
    notices.ready()
    notices.close()


# The notifier drops its socket unclosed where it cannot connect.
@pytest.mark.filterwarnings("ignore:Exception ignored in.*socket:pytest.PytestUnraisableExceptionWarning")
def test_a_listener_that_is_gone_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    notices = systemd.take()
    notices.ready()
    notices.close()
    assert "NOTIFY_SOCKET" not in os.environ


def test_what_is_meant_for_the_daemon_alone_leaves_the_environment() -> None:
    environ = {
        "WATCHDOG_USEC": "1",
        "WATCHDOG_PID": "2",
        "LISTEN_FDS": "1",
        "LISTEN_PID": "3",
        "HOME": "/root",
    }
    systemd.take(environ)
    assert environ == {"HOME": "/root"}


def test_more_time_is_asked_for_once_a_second(listener: socket.socket) -> None:
    notices = systemd.take()
    assert notices.extend(10.0) == 11.0
    assert notices.extend(10.5) == 11.0
    assert notices.extend(11.0) == 12.0
    notices.close()
    assert [listener.recv(100) for _ in range(2)] == [b"EXTEND_TIMEOUT_USEC=5000000"] * 2
    listener.settimeout(0)
    with pytest.raises(BlockingIOError):
        listener.recv(100)


def test_a_reload_is_said_with_its_moment(listener: socket.socket) -> None:
    notices = systemd.take()
    notices.reloading(12.3456789)
    notices.close()
    assert listener.recv(100) == b"RELOADING=1\nMONOTONIC_USEC=12345679"


def test_signs_of_life_come_at_a_third_of_the_watchdogs_time(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "3000000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))
    notices = systemd.take()
    assert [notices.alive(now) for now in (10.0, 10.9, 11.0, 20.0)] == [11.0, 11.0, 12.0, 21.0]
    notices.close()
    assert [listener.recv(100) for _ in range(3)] == [b"WATCHDOG=1"] * 3


@pytest.mark.parametrize(
    ("usec", "pid"), [("", ""), ("0", ""), ("3000000", "1"), ("soon", ""), ("9" * 5000, "")]
)
def test_no_watchdog_that_is_not_meant_for_us(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch, usec: str, pid: str
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", usec)
    monkeypatch.setenv("WATCHDOG_PID", pid)
    notices = systemd.take()
    assert notices.alive(10.0) == math.inf
    notices.close()
    listener.settimeout(0)
    with pytest.raises(BlockingIOError):
        listener.recv(100)
