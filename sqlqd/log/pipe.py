"""The way out for log lines: one write a line, never waiting, never raising; what does not go is counted."""

import os
import select
import socket
import stat
from collections.abc import Callable
from contextlib import suppress

from sqlqd.log.render import MAX_LINE

_TURNS = 200
"""Tries to write to a terminal while others write there."""
_TURN_MILLISECONDS = 20
"""The longest wait before each: a terminal has no room for one who does not wait while another writes."""


class LogPipe:
    """Writes whole lines to what a descriptor leads to.

    The descriptor's own open file is shared with strangers (a shell, a terminal), so it is never made
    non-blocking itself: a pipe or terminal is opened anew, a socket is told at each send.
    """

    def __init__(self, fd: int) -> None:
        self.dropped = 0
        self.flows = True
        """Whether the last line went out whole."""
        self.kept = False
        """A line is written at once or not at all."""
        self._torn = False
        self._fd: int | None = None
        self._socket: socket.socket | None = None
        self._write = self._way(fd)

    def close(self) -> None:
        """Give up what was opened here; the descriptor itself stays."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def write(self, line: str) -> None:
        """Write the line and its end, or count it as dropped."""
        data = line.encode("utf-8", "replace")[: MAX_LINE - 1] + b"\n"
        try:
            sent = self._write(b"\n" + data[: MAX_LINE - 1] if self._torn else data)
        except OSError:
            self.dropped += 1
            self.flows = False
            return
        # A terminal or a full disk may take half a line; the next one then begins on a line of its own.
        self._torn = sent < len(data)
        self.flows = not self._torn
        self.dropped += self._torn

    def flush(self) -> None:
        """Nothing to do: nothing is kept."""

    def forget(self) -> None:
        """Nothing to do: nothing is kept."""

    def _way(self, fd: int) -> Callable[[bytes], int]:
        try:
            mode = os.fstat(fd).st_mode
            if stat.S_ISSOCK(mode):
                self._socket = socket.socket(fileno=os.dup(fd))
                return self._send
            if stat.S_ISREG(mode):
                # A new open file would have an offset of its own and overwrite what others wrote.
                return lambda data: os.write(fd, data)
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            self._fd = os.open(f"/proc/self/fd/{fd}", flags)
        except OSError:
            return lambda data: _write_if_ready(fd, data)
        opened = self._fd
        if os.isatty(opened):
            return lambda data: self._write_to_terminal(opened, data)
        return lambda data: os.write(opened, data)

    def _send(self, data: bytes) -> int:
        if self._socket is None:
            return 0
        return self._socket.send(data, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)

    def _write_to_terminal(self, fd: int, data: bytes) -> int:
        """One that was full at the last line (stopped by Ctrl-S, say) is waited for no more."""
        for _ in range(_TURNS if self.flows else 0):
            with suppress(BlockingIOError):
                return os.write(fd, data)
            if not _is_ready(fd, _TURN_MILLISECONDS):
                break
        return os.write(fd, data)


def _write_if_ready(fd: int, data: bytes) -> int:
    """For what cannot be opened anew (another user's pipe): writable means room for one line."""
    if not _is_ready(fd, 0):
        raise BlockingIOError
    return os.write(fd, data)


def _is_ready(fd: int, milliseconds: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return any(events & select.POLLOUT for _, events in poll.poll(milliseconds))
