"""The way into the systemd journal: records in its own protocol, whose fields can be asked for one by one.

A record is one datagram to journald's socket, never waited for. What a busy, stuck or absent journald does
not take at once is kept and sent later, in order: in a container its queue has room for ten. Beyond a limit
the oldest are dropped, and counted. See https://systemd.io/JOURNAL_NATIVE_PROTOCOL/.
"""

import errno
import os
import socket
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sqlqd.events import EVENTS
from sqlqd.log.render import MARK, sentence
from sqlqd.printable import printable

SOCKET = Path("/run/systemd/journal/socket")

LONGEST = 8192
"""Bytes of one value; with all its fields a record fits into a datagram then."""

MOST_KEPT = 256 * 1024
"""Bytes of records that wait for journald to take them, in each process."""

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
        self.kept: deque[bytes] = deque()
        """What journald has not taken yet."""
        self._bytes_kept = 0
        self._address = os.fspath(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)

    @property
    def flows(self) -> bool:
        """Whether journald has taken all that was written."""
        return not self.kept

    def close(self) -> None:
        """Give up the socket, and what was kept."""
        self.forget()
        self._socket.close()

    def write(self, record: bytes) -> None:
        """Send it, or keep it for later."""
        self.kept.append(record)
        self._bytes_kept += len(record)
        self.flush()
        while self._bytes_kept > MOST_KEPT:
            self._pop()
            self.dropped += 1

    def flush(self) -> None:
        """Send what was kept, as far as journald takes it."""
        while self.kept:
            try:
                # By address each time: a journald that was restarted has another socket there.
                self._socket.sendto(self.kept[0], socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL, self._address)
            except OSError as error:
                if error.errno != errno.EMSGSIZE:
                    return
                self.dropped += 1
            self._pop()

    def forget(self) -> None:
        """Drop what was kept without a word: in a child of a fork it is the parent's to send."""
        self.kept.clear()
        self._bytes_kept = 0

    def _pop(self) -> None:
        self._bytes_kept -= len(self.kept.popleft())


def encoded(fields: Mapping[str, Any]) -> bytes:
    """One record: what it says to people, and each of its fields by a name of its own."""
    event = EVENTS[fields["event"]]
    told_on_stderr = fields["event"] == "job.output" and fields.get("stream") == "stderr"
    pairs: list[tuple[str, object]] = [
        ("MESSAGE", sentence(fields, event.wording)),
        ("PRIORITY", _NOTICE if told_on_stderr else _PRIORITIES[event.level]),
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
