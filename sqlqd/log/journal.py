"""The way into the systemd journal: records in its own protocol, whose fields can be asked for one by one.

A record is one datagram to journald's socket, never waited for: what a stuck or absent journald does not
take is dropped and counted. See https://systemd.io/JOURNAL_NATIVE_PROTOCOL/.
"""

import os
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sqlqd.events import EVENTS
from sqlqd.log.render import MARK, sentence
from sqlqd.printable import printable

SOCKET = Path("/run/systemd/journal/socket")

LONGEST = 8192
"""Bytes of one value; with all its fields a record fits into a datagram then."""

_PRIORITIES = {"debug": 7, "info": 6, "warning": 4, "error": 3}
_NOTICE = 5
_IDENTIFIER = "sqlqd"
_OURS = {"timestamp", "level"}
"""What the journal has in fields of its own."""


def leads_to_journal(fd: int, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether that descriptor is the stream that systemd connected to the journal."""
    try:
        found = os.fstat(fd)
    except OSError:
        return False
    return environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


class Journal:
    """Sends encoded records to journald."""

    def __init__(self, path: Path = SOCKET) -> None:
        self.dropped = 0
        self.flows = True
        """Whether the last record was taken."""
        self._address = os.fspath(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)

    def close(self) -> None:
        """Give up the socket."""
        self._socket.close()

    def write(self, record: bytes) -> None:
        """Send it, or count it as dropped."""
        try:
            # By address each time: a journald that was restarted has another socket there.
            self._socket.sendto(record, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL, self._address)
        except OSError:
            self.dropped += 1
            self.flows = False
        else:
            self.flows = True

    debug = info = warning = error = critical = msg = write


def encoded(_logger: object, level: str, fields: Mapping[str, Any]) -> bytes:
    """One record: what it says to people, and each of its fields by a name of its own."""
    event = EVENTS[fields["event"]]
    told_on_stderr = fields["event"] == "job.output" and fields.get("stream") == "stderr"
    pairs: list[tuple[str, object]] = [
        ("MESSAGE", sentence(fields, event.wording)),
        ("PRIORITY", _NOTICE if told_on_stderr else _PRIORITIES[level]),
        ("SYSLOG_IDENTIFIER", _IDENTIFIER),
        ("MESSAGE_ID", event.message_id),
    ]
    pairs += [(f"SQLQD_{name.upper()}", value) for name, value in fields.items() if name not in _OURS]
    return _joined(pairs)


def _joined(pairs: Iterable[tuple[str, object]]) -> bytes:
    # Journal readers show a value with control characters as numbers, or not at all.
    plain = ((name, printable(str(value), keep="\n\t")) for name, value in pairs)
    return b"".join(_pair(name.encode("ascii"), _cut(value)) for name, value in plain)


def _pair(name: bytes, value: bytes) -> bytes:
    if b"\n" not in value:
        return b"%s=%s\n" % (name, value)
    return b"%s\n%s%s\n" % (name, len(value).to_bytes(8, "little"), value)


def _cut(text: str) -> bytes:
    whole = text.encode("utf-8", "replace")
    if len(whole) <= LONGEST:
        return whole
    return whole[: LONGEST - len(MARK.encode())].decode("utf-8", "ignore").encode() + MARK.encode()
