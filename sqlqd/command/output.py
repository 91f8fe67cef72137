"""What a command writes: whole lines for the log, within a rate, and the tail that is kept with the job.

Pure, over bytes as they are read; memory is bounded whatever comes. Lines are split as bytes, since no
character of UTF-8 holds a newline's byte, and decoded whole.
"""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass

KEPT = 8192
"""Bytes of the tail that is kept."""

LONGEST_LINE = 2048
"""Bytes of a line that is logged; the rest of it is not."""

CUT = "…[cut]"

BURST = 1000
"""Lines that are logged at once; a command that writes more is logged at the rate."""
RATE = 50.0
"""Lines a second."""


_CONTINUATION = 0x80
"""The two high bits of a byte that goes on with a character of UTF-8."""
_LONGEST_REST = 3


@dataclass(frozen=True, slots=True)
class Line:
    """One line to be logged, or how many were passed over before the next one."""

    stream: str
    text: str
    passed_over: int = 0


class Budget:
    """How many lines may still be logged: a burst, refilled at a rate. For both streams of a command."""

    def __init__(self, now: float) -> None:
        self._left = float(BURST)
        self._filled_at = now

    def take(self) -> bool:
        """Whether one more line may go."""
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True

    def refill(self, now: float) -> None:
        """`now` by the awake clock."""
        self._left = min(float(BURST), self._left + (now - self._filled_at) * RATE)
        self._filled_at = now


class Lines:
    """The lines of one stream."""

    def __init__(self, stream: str, budget: Budget) -> None:
        self._stream = stream
        self._budget = budget
        self._begun = bytearray()
        self._skip = False
        """The line under way is passed over: it came when there was no budget."""
        self._passed = 0

    def feed(self, data: bytes) -> Iterator[Line]:
        """The lines that end in `data`."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            if self._skip:
                self._passed += 1
                self._skip = False
            elif self._budget.take():
                yield from self._ended(bytes(self._begun) + data[start : min(end, start + LONGEST_LINE + 1)])
            else:
                self._pass_over(data, start)
                return
            self._begun.clear()
            start = end + 1
        self._keep(data, start)

    def finish(self) -> Iterator[Line]:
        """What is left at the end: a line without its newline, and the count of those passed over."""
        if self._begun and self._budget.take():
            yield from self._ended(bytes(self._begun))
        elif self._begun or self._skip:
            self._passed += 1
        self._begun.clear()
        if self._passed:
            yield self._gap()

    def _ended(self, raw: bytes) -> Iterator[Line]:
        if self._passed:
            yield self._gap()
        if len(raw) > LONGEST_LINE:
            # A decoder that waits for more leaves out the character that the cut went through.
            whole = codecs.getincrementaldecoder("utf-8")("replace").decode(raw[:LONGEST_LINE])
            yield Line(self._stream, whole + CUT)
        else:
            yield Line(self._stream, raw.removesuffix(b"\r").decode("utf-8", "replace"))

    def _gap(self) -> Line:
        passed, self._passed = self._passed, 0
        return Line(self._stream, "", passed)

    def _pass_over(self, data: bytes, start: int) -> None:
        self._passed += data.count(b"\n", start)
        self._begun.clear()
        self._skip = not data.endswith(b"\n")

    def _keep(self, data: bytes, start: int) -> None:
        if not self._skip:
            room = LONGEST_LINE + 1 - len(self._begun)
            self._begun += data[start : start + room]


class Tail:
    """The last of what a command wrote to both of its streams, in the order in which it was read."""

    def __init__(self) -> None:
        self._last = b""
        self._total = 0

    def feed(self, data: bytes) -> None:
        """Take what was read."""
        self._total += len(data)
        self._last = (self._last + data)[-KEPT:]

    def text(self) -> str:
        """At most KEPT bytes of UTF-8 without NUL, with a first line that says so where much was cut."""
        last = self._last if self._total <= KEPT else _from_whole(self._last)
        text = last.decode("utf-8", "replace").replace("\0", "\\u0000")
        if self._total <= KEPT and len(text.encode()) <= KEPT:
            return text
        mark = f"[the end of {self._total} bytes of output]\n"
        return mark + _from_whole(text.encode()[len(mark) - KEPT :]).decode()


def _from_whole(data: bytes) -> bytes:
    """The data without the rest of a character that was cut off in front."""
    start = 0
    while start < min(len(data), _LONGEST_REST) and data[start] & 0xC0 == _CONTINUATION:
        start += 1
    return data[start:]
