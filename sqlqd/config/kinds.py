"""What a value of the configuration may be: readers of one raw TOML value each.

A reader returns the value to use or raises Unfit with a text fit for a person.
"""

import math
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sqlqd import units
from sqlqd.printable import printable
from sqlqd.terms import Rate

Path = tuple[str | int, ...]
Kind = Callable[[Any], Any]
"""Any: a raw TOML value goes in, and what comes out is checked by the field that declares it."""

_SHOWN = 40
"""Characters of a wrong value that a message repeats."""
_HUGE = 10**30
_PERCENTAGE = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*%")


class Unfit(ValueError):
    """The value cannot be used; `problems` are (place below the value, text)."""

    def __init__(self, text: str = "", *, problems: tuple[tuple[Path, str], ...] = ()) -> None:
        """One problem of the whole value by its text, or several below it."""
        super().__init__(text)
        self.problems = problems or (((), text),)


def show(raw: object) -> str:
    """A raw value as TOML writes it, cut to a few words."""
    match raw:
        case bool():
            shown = str(raw).lower()
        case str():
            shown = '"' + printable(raw.replace("\\", "\\\\").replace('"', '\\"')) + '"'
        case dict():
            shown = "a table"
        case list():
            shown = "an array"
        case int() if abs(raw) > _HUGE:
            shown = "a number far too large"
        case _:
            shown = str(raw)
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"


def whole(low: int, high: int) -> Kind:
    """A whole number from `low` to `high`."""

    def read(raw: object) -> int:
        if isinstance(raw, bool) or not isinstance(raw, int) or not low <= raw <= high:
            raise Unfit(f"must be a whole number from {low} to {high}, not {show(raw)}")
        return raw

    return read


def number(low: float, high: float) -> Kind:
    """A finite number from `low` to `high`."""

    def read(raw: object) -> float:
        if isinstance(raw, bool) or not isinstance(raw, (int, float)) or not low <= raw <= high:
            raise Unfit(f"must be a number from {low:g} to {high:g}, not {show(raw)}")
        return float(raw)

    return read


def length(low: float, high: float, *, infinite: bool = False) -> Kind:
    """A length of time in seconds: a number, or text in systemd's spelling."""

    def read(raw: object) -> float:
        if isinstance(raw, str):
            try:
                seconds = units.duration(raw)
            except ValueError as wrong:
                raise Unfit(str(wrong)) from None
            if math.isinf(seconds) and not infinite:
                raise Unfit('cannot be "infinity"')
        elif not isinstance(raw, (int, float)) or isinstance(raw, bool):
            raise Unfit(f'must be a length of time, such as 30 or "30s", not {show(raw)}')
        elif isinstance(raw, float) and not math.isfinite(raw):
            without_end = ' (write "infinity" for no limit)' if infinite else ""
            raise Unfit(f"must be a length of time, not {show(raw)}{without_end}")
        else:
            seconds = raw
        if seconds < low:
            raise Unfit(f"must be at least {units.spell(low)}, not {show(raw)}")
        if seconds > high and not math.isinf(seconds):
            raise Unfit(f"must be at most {units.spell(high)}, not {show(raw)}")
        return float(seconds)

    return read


def size(low: int, high: int) -> Kind:
    """A size in bytes: a whole number, or text such as "64KiB"."""

    def read(raw: object) -> int:
        if isinstance(raw, str):
            try:
                count = units.size(raw)
            except ValueError as wrong:
                raise Unfit(str(wrong)) from None
        elif isinstance(raw, int) and not isinstance(raw, bool):
            count = raw
        else:
            raise Unfit(f'must be a size in bytes, such as 65536 or "64KiB", not {show(raw)}')
        if not low <= count <= high:
            raise Unfit(f"must be from {units.spell_size(low)} to {units.spell_size(high)}, not {show(raw)}")
        return count

    return read


def percentage(low: float, high: float) -> Kind:
    """A percentage as systemd writes it: "50%"."""

    def read(raw: object) -> float:
        found = _PERCENTAGE.fullmatch(raw) if isinstance(raw, str) else None
        if found is None:
            raise Unfit(f'must be a percentage such as "50%" or "200%", not {show(raw)}')
        share = float(found[1])
        if not low <= share <= high:
            raise Unfit(f'must be from "{low:g}%" to "{high:.0f}%", not {show(raw)}')
        return share

    return read


def codes(raw: object) -> frozenset[int]:
    """Exit statuses."""
    if not isinstance(raw, list):
        raise Unfit(f"must be an array of exit statuses such as [0, 75], not {show(raw)}")
    one = whole(0, 255)
    found: list[tuple[Path, str]] = []
    for at, code in enumerate(raw):
        try:
            one(code)
        except Unfit as unfit:
            found.append(((at,), str(unfit)))
    if found:
        raise Unfit(problems=tuple(found))
    return frozenset(raw)


_RATE = re.compile(r"([1-9][0-9]{0,8})\s*/\s*(s|sec|min|h|hour|d|day)")
_PERIODS = {"s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0, "hour": 3600.0, "d": 86_400.0, "day": 86_400.0}


def rate(raw: object) -> Rate:
    """How often something may begin: "10/min", or a table with a burst."""
    burst: object = 1
    if isinstance(raw, dict):
        if unknown := raw.keys() - {"limit", "burst"}:
            raise Unfit(problems=(((min(unknown),), "unknown key"),))
        burst = raw.get("burst", 1)
        try:
            whole(1, 1_000_000)(burst)
        except Unfit as unfit:
            raise Unfit(problems=((("burst",), str(unfit)),)) from None
        if "limit" not in raw:
            raise Unfit("needs limit too")
        raw = raw["limit"]
    found = _RATE.fullmatch(raw) if isinstance(raw, str) else None
    if found is None:
        raise Unfit(f'must be so many in a time, such as "10/min" (s, min, h, d), not {show(raw)}')
    return Rate(_PERIODS[found[2]] / int(found[1]), int(str(burst)))


def name(raw: object) -> str:
    """The name of a queue."""
    word = text(raw)
    if not word:
        raise Unfit("cannot be empty")
    return word


def flag(raw: object) -> bool:
    """`true` or `false`."""
    if not isinstance(raw, bool):
        raise Unfit(f"must be true or false, not {show(raw)}")
    return raw


def choice(meanings: Mapping[str, object]) -> Kind:
    """One of a few words, each with what it stands for."""

    def read(raw: object) -> object:
        if not isinstance(raw, str) or raw not in meanings:
            known = ", ".join(f'"{word}"' for word in meanings)
            raise Unfit(f"must be one of {known}, not {show(raw)}")
        return meanings[raw]

    return read


def words(*known: str) -> Kind:
    """One of a few words, which stand for themselves."""
    return choice({word: word for word in known})


def text(raw: object) -> str:
    """Text without NUL."""
    if not isinstance(raw, str):
        raise Unfit(f"must be text in quotes, not {show(raw)}")
    if "\0" in raw:
        raise Unfit("cannot contain a NUL character")
    return raw


def path(raw: object) -> str:
    """The path of a file or directory."""
    where = text(raw)
    if not where:
        raise Unfit("cannot be empty")
    if where.startswith("~"):
        raise Unfit('write the whole path: "~" would be another directory for each user who reads this')
    return where


def user(unfit: Callable[[str], str | None] = lambda _: None) -> Kind:
    """The name of a user, or the number of one in quotes; `unfit` says what speaks against him."""

    def read(raw: object) -> str:
        name = text(raw)
        if not name or name != name.strip():
            raise Unfit(f"must be the name of a user, not {show(raw)}")
        if (why := unfit(name)) is not None:
            raise Unfit(why)
        return name

    return read


def database(raw: object) -> str:
    """The path of a database, which lives in a file."""
    text = path(raw)
    if text.startswith((":memory:", "file:")) or text.endswith("/"):
        raise Unfit(f"must be the path of a file, not {show(raw)}")
    return text


def command(raw: object) -> str | tuple[str, ...]:
    """Text for /bin/sh, or the words of a program and its arguments."""
    if isinstance(raw, str):
        if not raw.strip():
            raise Unfit("cannot be empty")
        return text(raw)
    if not isinstance(raw, list) or not raw:
        raise Unfit(f'must be text for a shell, or an array such as ["prog", "argument"], not {show(raw)}')
    found: list[tuple[Path, str]] = []
    for at, word in enumerate(raw):
        try:
            text(word)
        except Unfit as unfit:
            found.append(((at,), str(unfit)))
    if found:
        raise Unfit(problems=tuple(found))
    if not raw[0]:
        raise Unfit("the first word names the program and cannot be empty")
    return tuple(raw)


def environment(raw: object) -> Mapping[str, str]:
    """Names and values for a command's environment."""
    if not isinstance(raw, dict):
        # Here and below a value may be a secret: it is never repeated.
        raise Unfit('must be a table such as { LANG = "C.UTF-8" }')
    found: list[tuple[Path, str]] = []
    for name, value in raw.items():
        if not name or "=" in name or "\0" in name:
            found.append(((name,), f"{show(name)} cannot be the name of a variable"))
        elif name.startswith("SQLQD_"):
            found.append(((name,), "names that begin with SQLQD_ are set by the daemon"))
        if not isinstance(value, str):
            found.append(((name,), "must be text in quotes"))
        elif "\0" in value:
            found.append(((name,), "cannot contain a NUL character"))
    if found:
        raise Unfit(problems=tuple(found))
    return MappingProxyType(dict(raw))
