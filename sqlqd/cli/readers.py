"""What the text of an option or argument may be. Each reader gives the value to use or raises ValueError."""

import math
import os

from sqlqd import units

_LATEST = 1e11
"""The last moment that the database takes, in Unix seconds."""


def text(given: str) -> str:
    """Text by its bytes: UTF-8 whatever the locale says, and refused where it is not."""
    try:
        return os.fsencode(given).decode("utf-8")
    except UnicodeError:
        raise ValueError("this is not UTF-8") from None


def duration(given: str) -> float:
    """Seconds, from a number or systemd's spelling."""
    seconds = units.duration(given, bare=True)
    if math.isinf(seconds):
        raise ValueError("this needs an end")
    return seconds


def moment(given: str) -> float:
    """Unix seconds, from ISO 8601; local time where it names no zone."""
    from datetime import datetime  # noqa: PLC0415 - only --at needs it

    try:
        # A time that a change of clocks leaves out counts as if the change had not been made yet; of one
        # that comes twice the first is meant.
        seconds = datetime.fromisoformat(given.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{given!r} is not a moment such as 2030-12-24T18:00 or 2030-12-24T18:00Z") from None
    if not 0 <= seconds <= _LATEST:
        raise ValueError(f"{given!r} is too far away")
    return seconds


class Whole:
    """A whole number from `low` to `high`."""

    def __init__(self, low: int, high: int) -> None:
        """Both may be reached."""
        self.low = low
        self.high = high

    def __call__(self, given: str) -> int:
        """The number."""
        number = int(given)
        if not self.low <= number <= self.high:
            raise ValueError(f"{number} is not from {self.low} to {self.high}")
        return number


class Word:
    """One of a few words."""

    def __init__(self, *known: str) -> None:
        """All of them."""
        self.known = known

    def __call__(self, given: str) -> str:
        """The word."""
        if given not in self.known:
            raise ValueError(f"{given!r} is not one of {', '.join(self.known)}")
        return given
