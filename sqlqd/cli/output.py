"""Standard output: UTF-8 whatever the locale, written by whole pieces, nothing left to fail at the exit."""

import os
from collections.abc import Mapping
from typing import Any

_STANDARD_OUTPUT = 1
_PIECE = 65_536


class ReaderLeft(Exception):
    """Whoever read our output has seen enough; no failure of ours."""


class Output:
    """Lines that go out when there are enough of them, and at the end of a `with` that did not fail."""

    def __init__(self) -> None:
        """Nothing is written yet."""
        self._held: list[bytes] = []
        self._size = 0

    def __enter__(self) -> "Output":
        """Itself."""
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        """Write what is held, unless it failed."""
        if failed is None:
            self.flush()

    def line(self, text: str = "") -> None:
        """One line; the caller made it fit to be shown."""
        self.text(f"{text}\n")

    def text(self, text: str) -> None:
        """As it is, be it part of a line."""
        self._held.append(text.encode("utf-8", "backslashreplace"))
        self._size += len(self._held[-1])
        if self._size >= _PIECE:
            self.flush()

    def json(self, document: Mapping[str, Any]) -> None:
        """One JSON document on one line, in ASCII: no terminal and no locale can take it amiss."""
        from json import dumps  # noqa: PLC0415 - text needs none of it

        self.line(dumps(document, ensure_ascii=True).replace("\x7f", "\\u007f"))

    def flush(self) -> None:
        """Write it all. Raises OSError, ReaderLeft."""
        rest = memoryview(b"".join(self._held))
        self._held, self._size = [], 0
        while rest:
            try:
                rest = rest[os.write(_STANDARD_OUTPUT, rest) :]
            except BlockingIOError:
                _wait()
            except BrokenPipeError:
                # click would make a status of its own of it.
                raise ReaderLeft from None


def _wait() -> None:
    """Somebody made our output non-blocking, and it is full."""
    from select import POLLOUT, poll  # noqa: PLC0415 - rare

    ready = poll()
    ready.register(_STANDARD_OUTPUT, POLLOUT)
    ready.poll(1000)
