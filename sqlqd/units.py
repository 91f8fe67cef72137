"""Lengths of time and sizes as people write them: systemd's spelling, nothing else.

Both readers return plain numbers (seconds, bytes) and raise ValueError with a text fit for a person.
"""

import math
import re

_SECONDS = {
    "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "usec": 1e-6,
    "ms": 1e-3, "msec": 1e-3,
    "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0,
    "m": 60.0, "min": 60.0, "minute": 60.0, "minutes": 60.0,
    "h": 3600.0, "hr": 3600.0, "hour": 3600.0, "hours": 3600.0,
    "d": 86_400.0, "day": 86_400.0, "days": 86_400.0,
    "w": 604_800.0, "week": 604_800.0, "weeks": 604_800.0,
    "M": 2_629_800.0, "month": 2_629_800.0, "months": 2_629_800.0,
    "y": 31_557_600.0, "year": 31_557_600.0, "years": 31_557_600.0,
}  # fmt: skip
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-zµμ]*)\s*")
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-z]*)\s*")
_BYTES = {"": 1, "B": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_BYTES |= {f"{letter}iB": _BYTES[letter] for letter in "KMGT"}
_BYTES |= {f"{letter}B": 1000**power for power, letter in enumerate("KMGT", 1)}
_BYTES |= {"k": 1024, "kB": 1000}
_LONGEST = 200
"""Characters of a length or a size that are worth reading."""


def duration(text: str, *, bare: bool = False) -> float:
    """Seconds of `"1h 30min"`; `"infinity"` is math.inf. A number without a unit counts where `bare`."""
    if text.strip() == "infinity":
        return math.inf
    parts: list[tuple[str, str]] = []
    at = 0
    while at < len(text) <= _LONGEST and (part := _PART.match(text, at)):
        parts.append((part[1], part[2]))
        at = part.end()
    if not parts or at < len(text):
        raise ValueError(f'{text[:_LONGEST]!r} is not a length of time, such as "30s" or "1h 30min"')
    if any(not unit for _, unit in parts) and not (bare and len(parts) == 1):
        such = 'each needs one, as in "1h 30min"' if parts[1:] else f'write "{text.strip()}s" for seconds'
        raise ValueError(f"{text!r} has a number without a unit: {such}")
    seconds = 0.0
    for number, unit in parts:
        if unit and unit not in _SECONDS:
            raise ValueError(f"{text!r} has no unit that is known here: ms, s, min, h, d, w, month and y are")
        seconds += float(number) * _SECONDS[unit or "s"]
    if math.isinf(seconds):
        raise ValueError(f"{text[:20]!r}… is too long")
    return seconds


def size(text: str) -> int:
    """Bytes of `"64K"` and `"64KiB"` (times 1024) and of `"64KB"` (times 1000)."""
    found = _SIZE.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None or found[2] not in _BYTES:
        raise ValueError(f'{text[:_LONGEST]!r} is not a size, such as "64KiB" or "10MB"')
    return int(float(found[1]) * _BYTES[found[2]])


_SHOWN = (("d", 86_400.0), ("h", 3600.0), ("min", 60.0))


def spell(seconds: float) -> str:
    """A length of time for people, in at most two units: `"1h 30min"`, `"2.5s"`, `"infinity"`."""
    if math.isinf(seconds):
        return "infinity"
    if seconds < 1.0:
        return f"{round(seconds * 1000)}ms" if seconds > 0 else "0s"
    if seconds < 10.0:  # noqa: PLR2004 - below this a tenth of a second still says something
        return f"{seconds:.1f}".removesuffix(".0") + "s"
    parts: list[str] = []
    rest = round(seconds)
    for unit, length in (*_SHOWN, ("s", 1.0)):
        count, rest = divmod(rest, int(length))
        if count:
            parts.append(f"{count}{unit}")
        if parts and (len(parts) == 2 or not count):  # noqa: PLR2004 - two units at most
            break
    return " ".join(parts)


def roughly(count: int) -> str:
    """A size for people, to two figures at least: `"1.4GiB"`, `"87MiB"`."""
    for unit, length in (("TiB", 1024**4), ("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if count >= length:
            share = count / length
            return f"{share:.1f}{unit}" if share < 10 else f"{share:.0f}{unit}"  # noqa: PLR2004 - two figures
    return f"{count}B"


def spell_size(count: int) -> str:
    """A size for people: `"64KiB"`, `"100B"`."""
    for unit, length in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if count >= length and count % length == 0:
            return f"{count // length}{unit}"
    return f"{count}B"
