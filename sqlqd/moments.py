"""Moments and lengths of time as people and programs are told them."""

from datetime import UTC, datetime

from sqlqd.units import spell

_MOST = 250_000_000_000.0
"""Seconds that the calendar can hold; a row written by hand may say anything."""


def iso(seconds: float) -> str | None:
    """A moment as ISO 8601 in UTC, to the millisecond; None where the calendar ends."""
    if not 0 <= seconds <= _MOST:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def local(seconds: float) -> str:
    """A moment for people, in their own zone."""
    if not 0 <= seconds <= _MOST:
        return f"{seconds:g}"
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def beside(seconds: float, now: float) -> str:
    """How far from now: `in 5min`, `3s ago`, `now`."""
    if not 0 <= seconds <= _MOST:
        return f"{seconds:g}"
    apart = seconds - now
    if abs(apart) < 1:
        return "now"
    return f"in {spell(apart)}" if apart > 0 else f"{spell(-apart)} ago"
