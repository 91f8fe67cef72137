"""Records in the journal's own protocol, on a socket that stands for journald's."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sqlqd.events import EVENTS
from sqlqd.log.journal import LONGEST, MOST_KEPT, Journal, encoded, leads_to_journal


def decoded(record: bytes) -> dict[str, bytes]:
    """The fields of a datagram, as journald reads them."""
    fields: dict[str, bytes] = {}
    while record:
        name, mark, rest = record[: record.index(b"\n")].partition(b"=")
        if mark:
            value, _, record = (rest, b"", record[record.index(b"\n") + 1 :])
        else:
            body = record[len(name) + 1 :]
            size = int.from_bytes(body[:8], "little")
            value, record = body[8 : 8 + size], body[8 + size + 1 :]
        fields[name.decode()] = value
    return fields


def told(level: str = "info", event: str = "job.output", **more: Any) -> dict[str, bytes]:
    fields = {"timestamp": "t", "level": level, "event": event, "pid": 5, "queue": "mail", "job_id": "f" * 32}
    return decoded(encoded(fields | more))


def test_every_field_has_a_name_of_its_own() -> None:
    fields = told("warning", "job.failed", attempt=2, exit_code=7, reason="exit 7", duration_seconds=0.25)
    assert fields == {
        "MESSAGE": b"mail ffffffff failed: exit 7",
        "PRIORITY": b"4",
        "SYSLOG_IDENTIFIER": b"sqlqd",
        "MESSAGE_ID": EVENTS["job.failed"].message_id.encode(),
        "SQLQD_EVENT": b"job.failed",
        "SQLQD_PID": b"5",
        "SQLQD_QUEUE": b"mail",
        "SQLQD_JOB_ID": b"f" * 32,
        "SQLQD_ATTEMPT": b"2",
        "SQLQD_EXIT_CODE": b"7",
        "SQLQD_REASON": b"exit 7",
        "SQLQD_DURATION_SECONDS": b"0.25",
    }


@pytest.mark.parametrize(("stream", "priority"), [("stdout", b"6"), ("stderr", b"5")])
def test_output_has_the_priority_of_its_stream_whatever_it_says(stream: str, priority: bytes) -> None:
    fields = told(stream=stream, line="<0>the end is near")
    assert fields["PRIORITY"] == priority
    assert fields["MESSAGE"].endswith(b"<0>the end is near")


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("two\nlines\nPRIORITY=0", b"two\nlines\nPRIORITY=0"),
        ("nul \0 and \x1b[31m\ttab", b"nul \\x00 and \\x1b[31m\ttab"),
        ("\udcff", b"\\udcff"),
        ("", b""),
        ("=\n", b"=\n"),
    ],
)
def test_no_value_breaks_out_of_its_field(value: str, kept: bytes) -> None:
    fields = told("error", "job.dead", reason=value)
    assert fields["SQLQD_REASON"] == kept
    assert fields["PRIORITY"] == b"3"
    assert b"\n" not in fields["MESSAGE"]


def test_a_long_value_is_cut_between_characters() -> None:
    fields = told("error", "job.dead", reason="ü" * LONGEST)
    assert len(fields["SQLQD_REASON"]) <= LONGEST
    assert fields["SQLQD_REASON"].decode().endswith("ü…[cut]")


@pytest.fixture
def journald(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(os.fspath(tmp_path / "socket"))
        receiver.settimeout(5.0)
        yield receiver


def test_what_a_busy_journald_does_not_take_is_sent_later_in_order(
    journald: socket.socket, tmp_path: Path
) -> None:
    journal = Journal(tmp_path / "socket")
    sent = 0
    while journal.flows or sent < 1000:
        journal.write(b"A=%d\n" % sent)
        sent += 1
    for number in range(sent):
        assert journald.recv(100) == b"A=%d\n" % number
        journal.flush()
    assert (journal.flows, journal.dropped) == (True, 0)
    journal.close()


def test_a_journald_that_does_not_read_costs_the_oldest_records_beyond_a_limit(
    journald: socket.socket, tmp_path: Path
) -> None:
    journal = Journal(tmp_path / "socket")
    record = b"A=" + b"x" * (MOST_KEPT // 10)
    while journal.flows:
        journal.write(record)
    for _ in range(20):
        journal.write(record)
    assert 10 <= journal.dropped <= 12
    journal.write(b"A=last\n")
    found = b""
    while journal.kept or found != b"A=last\n":
        found = journald.recv(MOST_KEPT)
        journal.flush()
    journal.close()


def test_a_record_that_no_datagram_holds_stops_none(journald: socket.socket, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "socket")
    journal.write(b"A=" + b"x" * 10_000_000)
    journal.write(b"A=1\n")
    assert (journald.recv(100), journal.dropped) == (b"A=1\n", 1)
    journal.close()


def test_a_journald_that_was_away_is_found_again(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    journal = Journal(path)
    journal.write(b"A=1\n")
    journal.forget()
    for number in (b"A=2\n", b"A=3\n"):
        journal.write(number)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
            receiver.bind(os.fspath(path))
            journal.flush()
            assert receiver.recv(100) == number
        path.unlink()
    assert (journal.dropped, journal.flows) == (0, True)
    journal.close()


def test_the_journals_stream_is_known_by_its_file(tmp_path: Path) -> None:
    with (tmp_path / "stream").open("wb") as stream:
        found = os.fstat(stream.fileno())
        environ = {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"}
        assert leads_to_journal(stream.fileno(), environ)
        assert not leads_to_journal(stream.fileno(), {"JOURNAL_STREAM": f"{found.st_dev}:1"})
        assert not leads_to_journal(stream.fileno(), {})
    assert not leads_to_journal(987654, environ)
