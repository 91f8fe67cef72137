"""The three pipes of a command: the payload in, what it writes out. Never waits; a reader that does not read
and a writer that never stops cost nobody but themselves."""

import os
import select
from collections.abc import Iterator, Mapping

from sqlqd.command.output import Budget, Line, Lines, Tail

_AT_ONCE = 64 * 1024
_READS_A_STEP = 4
_READS_AT_THE_END = 64
"""A pipe holds at most 1 MiB unless root enlarged it; whoever writes on by then is no part of the run."""


class Streams:
    """Our ends of the pipes, non-blocking, and until it is started the command's ends."""

    def __init__(self, payload: bytes, now: float) -> None:
        """Raises OSError where there are no descriptors left."""
        self.theirs: tuple[int, ...] = ()
        """What the command gets as 0, 1 and 2."""
        self._payload = memoryview(payload)
        self._input: int | None = None
        self._budget = Budget(now)
        self._lines: dict[int, Lines] = {}
        self._tail = Tail()
        try:
            self._open()
        except OSError:
            self.close()
            raise

    def started(self) -> None:
        """The command has its ends, or never will: close them here."""
        for fd in self.theirs:
            os.close(fd)
        self.theirs = ()

    def descriptors(self) -> Mapping[int, int]:
        """What to wait for, with the events of poll()."""
        wanted = dict.fromkeys(self._lines, select.POLLIN)
        if self._input is not None:
            wanted[self._input] = select.POLLOUT
        return wanted

    def step(self, now: float) -> Iterator[Line]:
        """Write and read what can be at once, within a bound; the lines that came."""
        self._feed()
        self._budget.refill(now)
        for fd in tuple(self._lines):
            yield from self._read(fd, _READS_A_STEP)

    def drain(self, now: float) -> Iterator[Line]:
        """Read what the pipes still hold, whoever has them open; the last lines. The end of reading."""
        self._budget.refill(now)
        for fd, lines in tuple(self._lines.items()):
            yield from self._read(fd, _READS_AT_THE_END)
            if fd in self._lines:
                yield from lines.finish()

    def tail(self) -> str:
        """The end of the output, fit to be stored."""
        return self._tail.text()

    def close(self) -> None:
        """Give up all descriptors."""
        self.started()
        self._close_input()
        for fd in self._lines:
            os.close(fd)
        self._lines.clear()

    def _open(self) -> None:
        theirs, self._input = os.pipe2(os.O_CLOEXEC)
        self.theirs = (theirs,)
        os.set_blocking(self._input, False)
        for stream in ("stdout", "stderr"):
            ours, theirs = os.pipe2(os.O_CLOEXEC)
            self.theirs += (theirs,)
            self._lines[ours] = Lines(stream, self._budget)
            os.set_blocking(ours, False)
        # A payload that the pipe holds is there before the command is: should this process die between its
        # start and the next step, the command must not take an empty input for its payload.
        self._feed()

    def _feed(self) -> None:
        if self._input is None:
            return
        try:
            while self._payload:
                self._payload = self._payload[os.write(self._input, self._payload[:_AT_ONCE]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            # It need not read its payload.
            pass
        self._close_input()

    def _close_input(self) -> None:
        if self._input is not None:
            os.close(self._input)
            self._input = None

    def _read(self, fd: int, times: int) -> Iterator[Line]:
        lines = self._lines[fd]
        for _ in range(times):
            try:
                data = os.read(fd, _AT_ONCE)
            except BlockingIOError:
                return
            if not data:
                del self._lines[fd]
                os.close(fd)
                yield from lines.finish()
                return
            self._tail.feed(data)
            yield from lines.feed(data)
