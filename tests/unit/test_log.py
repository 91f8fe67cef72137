"""Logging never waits and never raises, whoever reads it."""

import fcntl
import json
import os
import pty
import socket
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sqlqd import log
from sqlqd.log.render import MAX_LINE


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    yield
    log.setup("json", "info")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for fd in ends:
        try:
            os.close(fd)
        except OSError:
            continue


def records(fd: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in os.read(fd, 1 << 20).splitlines()]


def test_a_record_has_event_level_and_time(pipe: tuple[int, int]) -> None:
    log.setup("json", "info", fd=pipe[1])
    log.event("job.failed", job_id="a" * 32, exit_code=7, signal=None)
    (record,) = records(pipe[0])
    assert record["event"] == "job.failed"
    assert record["level"] == "warning"
    assert record["timestamp"].endswith("Z")
    assert record["pid"] == os.getpid()
    assert record["exit_code"] == 7
    assert "signal" not in record


def test_callers_fields_never_stand_in_for_ours(pipe: tuple[int, int]) -> None:
    log.setup("json", "info", fd=pipe[1])
    log.event("job.failed", level="debug", event="forged", timestamp="never")
    (record,) = records(pipe[0])
    assert (record["event"], record["level"]) == ("job.failed", "warning")
    assert record["timestamp"] != "never"


def test_lower_levels_are_left_out(pipe: tuple[int, int]) -> None:
    log.setup("json", "error", fd=pipe[1])
    log.event("job.failed")
    log.event("job.dead")
    assert [record["event"] for record in records(pipe[0])] == ["job.dead"]


def test_a_reader_that_does_not_read_costs_records_not_time(pipe: tuple[int, int]) -> None:
    log.setup("json", "info", fd=pipe[1])
    for _ in range(5000):
        log.event("job.output", line="x" * 1000)
    assert log.dropped() > 1000
    whole = records(pipe[0])
    assert len(whole) + log.dropped() == 5000
    log.event("job.finished")
    last, told = records(pipe[0])
    assert last["event"] == "job.finished"
    assert (told["event"], told["count"]) == ("log.dropped", log.dropped())
    log.event("job.finished")
    assert len(records(pipe[0])) == 1


def test_the_descriptor_itself_stays_as_it_was(pipe: tuple[int, int]) -> None:
    log.setup("json", "info", fd=pipe[1])
    log.event("job.finished")
    assert not fcntl.fcntl(pipe[1], fcntl.F_GETFL) & os.O_NONBLOCK


def test_a_reader_that_is_gone_is_no_error(pipe: tuple[int, int]) -> None:
    log.setup("json", "info", fd=pipe[1])
    os.close(pipe[0])
    log.event("job.finished")
    assert log.dropped() == 1


def test_a_closed_descriptor_is_no_error() -> None:
    fd = os.open(os.devnull, os.O_WRONLY)
    os.close(fd)
    log.setup("json", "info", fd=fd)
    log.event("job.finished")
    assert log.dropped() == 1


def test_a_socket_that_is_full_is_not_waited_for() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        log.setup("json", "info", fd=theirs.fileno())
        for _ in range(5000):
            log.event("job.output", line="x" * 1000)
        assert log.dropped() > 100
        data = b""
        ours.settimeout(0)
        while True:
            try:
                data += ours.recv(1 << 20)
            except BlockingIOError:
                break
        lines = [line for line in data.split(b"\n") if line]
        assert sum(1 for line in lines if line.endswith(b"}")) >= len(lines) - 1


def test_a_file_gets_every_record_of_every_writer(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as file:
        log.setup("json", "info", fd=file.fileno())
        log.event("job.started")
        os.write(file.fileno(), b"somebody else\n")
        log.event("job.finished")
    lines = (tmp_path / "log").read_bytes().splitlines()
    assert lines[1] == b"somebody else"
    assert len(lines) == 3


def test_a_line_is_never_longer_than_a_pipe_takes_at_once(pipe: tuple[int, int]) -> None:
    log.setup("json", "info", fd=pipe[1])
    log.event("job.output", line='"\\' * 50_000)
    assert len(os.read(pipe[0], 1 << 20)) <= MAX_LINE


def test_a_terminal_gets_text_and_a_pipe_json(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    theirs, ours = pty.openpty()
    try:
        attributes = termios.tcgetattr(ours)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(ours, termios.TCSANOW, attributes)
        log.setup("auto", "info", fd=ours)
        log.event("job.output", queue="mail", job_id="abcdef0123456789", line="one\x1b[2J")
        shown = os.read(theirs, 1 << 16).decode()
    finally:
        os.close(theirs)
        os.close(ours)
    assert shown[8:] == " info    mail abcdef01 | one\\x1b[2J\n"
    log.setup("auto", "info", fd=pipe[1])
    log.event("job.finished")
    assert records(pipe[0])[0]["event"] == "job.finished"


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="log_format"):
        log.setup("xml", "info")
