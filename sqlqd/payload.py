"""Whether bytes from outside may become a job's payload. What is accepted is stored as it came."""

import re

from sqlqd.units import spell_size

_DEEPEST = 500
"""Arrays and objects in one another; SQLite's own reader of JSON ends at 1000, others sooner."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]|-?Infinity|NaN', re.DOTALL)


class PayloadRefused(ValueError):
    """It cannot be a payload of this queue; the text says why and where."""


def accept(data: bytes, *, limit: int | None, json: bool) -> str:
    """The payload as text, character for character; raises PayloadRefused.

    `limit` is in bytes. `json`: only one value as RFC 8259 has it; it is looked at, never rewritten.
    """
    if limit is not None and len(data) > limit:
        # Of one that comes by a pipe no more is read than shows that it is too long.
        least = "at least " if len(data) == limit + 1 else ""
        raise PayloadRefused(
            f"payload of {least}{len(data)} bytes is over max_payload of {spell_size(limit)}; "
            "put it in a file and enqueue the file's name"
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PayloadRefused(
            f"payload is not UTF-8: byte {error.start + 1} is 0x{data[error.start]:02x}"
        ) from None
    if "\0" in text:
        raise PayloadRefused(f"payload has a NUL byte, byte {data.index(0) + 1}; no text may hold one")
    if json and (wrong := _json_problem(text)):
        raise PayloadRefused(f"payload is not valid JSON: {wrong}")
    return text


def _json_problem(text: str) -> str | None:
    from json import JSONDecodeError, JSONDecoder  # noqa: PLC0415 - queues of plain text do without it

    if text.startswith("\ufeff"):
        return "it begins with a byte order mark (BOM), at line 1 column 1"
    if text.count("[") + text.count("{") > _DEEPEST and _depth(text) > _DEEPEST:
        return f"nested more than {_DEEPEST} deep"
    # Numbers stay text: whole ones may have more digits than Python converts, and nobody wants the value.
    decoder = JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse)
    try:
        decoder.decode(text)
    except JSONDecodeError as error:
        return f"{error.msg} at line {error.lineno} column {error.colno}"
    except _NotANumber as error:
        at = next(found.start() for found in _TOKEN.finditer(text) if found[0] == str(error))
        line = text.count("\n", 0, at) + 1
        return f"{error} is no JSON number at line {line} column {at - text.rfind(chr(10), 0, at)}"
    except RecursionError:
        return "nested too deep"
    return None


class _NotANumber(ValueError):
    pass


def _refuse(word: str) -> None:
    raise _NotANumber(word)


def _depth(text: str) -> int:
    depth = deepest = 0
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] in "]}":
            depth -= 1
    return deepest
