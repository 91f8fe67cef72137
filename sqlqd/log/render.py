"""A record as one line of text: nothing that a payload, a name or a command's output holds breaks out of it.

Pure. Lines are cut to size by shortening their longest values, so that a record stays valid.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from sqlqd.printable import printable

MAX_LINE = 4096
"""Bytes of a line with its end: PIPE_BUF, what a pipe takes in one piece."""

MARK = "…[cut]"

_SHORTEST = 24
_JSON = json.JSONEncoder(ensure_ascii=False, separators=(", ", ": "))
_LEVEL_COLOURS = {"debug": "2", "info": "32", "warning": "33", "error": "31"}

# Beyond ASCII's own controls: what some reader takes for the end of a line, what a terminal obeys, what
# turns the order of text around, and what is not text at all (lone surrogates).
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def as_json(fields: Mapping[str, Any]) -> str:
    """One JSON object, at most MAX_LINE - 1 bytes."""
    return _fitted(fields, _object)


def as_text(fields: Mapping[str, Any], wording: str, *, colour: bool = False) -> str:
    """One line for people: time, level, the event in words, and the fields that those do not mention."""
    return _fitted(fields, lambda plain: _sentence(plain, wording, colour=colour))


def sentence(fields: Mapping[str, Any], wording: str) -> str:
    """The event in words, in one line."""
    return printable(wording.format_map(_Said(fields)))


class _Said(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return "?"


def _escaped(text: str) -> str:
    return _UNSAFE.sub(_spelled, text)


def _spelled(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


def _plain(value: Any) -> str | int | float | bool | None:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (int, float, str)):
        return value
    return str(value)


def _object(fields: Mapping[str, Any]) -> str:
    return _escaped(_JSON.encode(fields))


def _sentence(fields: Mapping[str, Any], wording: str, *, colour: bool) -> str:
    level = str(fields.get("level", ""))
    told = sentence(fields, wording)
    rest = " ".join(
        f"{key}={value}"
        for key, value in fields.items()
        if key not in {"timestamp", "level", "event", "pid"} and f"{{{key}" not in wording
    )
    clock = str(fields.get("timestamp", ""))[11:19]
    if not colour:
        return f"{clock} {level:<7} {told}  {printable(rest)}".rstrip()
    paint = _LEVEL_COLOURS.get(level, "0")
    return f"\x1b[2m{clock}\x1b[0m \x1b[{paint}m{level:<7}\x1b[0m {told}  \x1b[2m{printable(rest)}\x1b[0m"


def _fitted(fields: Mapping[str, Any], render: Callable[[Mapping[str, Any]], str]) -> str:
    values: dict[str, Any] = {key: _plain(value) for key, value in fields.items()}
    line = render(values)
    for _ in range(4 * len(values)):
        excess = len(line.encode("utf-8", "replace")) - (MAX_LINE - 1)
        if excess <= 0:
            return line
        key = max(values, key=lambda name: _size(values[name]))
        values[key] = _shortened(str(values[key]), excess)
        line = render(values)
    core: dict[str, Any] = {key: values[key] for key in ("timestamp", "level", "event") if key in values}
    return render({**core, "cut": True})


def _size(value: Any) -> int:
    return len(_escaped(_JSON.encode(value)).encode("utf-8", "replace"))


def _shortened(text: str, excess: int) -> str:
    """The text cut so that its escaped form loses `excess` bytes or comes down to the shortest."""
    body = text.removesuffix(MARK)
    target = max(_size(body) - excess - len(MARK.encode()), _SHORTEST)
    keep = len(body)
    low, high = 0, keep
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _size(body[:middle]) <= target else (low, middle - 1)
    return body[:low] + MARK
