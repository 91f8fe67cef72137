"""Parts of a job in the arguments of its command: {payload}, {payload.field}, {id}, {queue}, {attempt}.

Each is filled in once, inside the one argument that it stands in: what it is replaced by is never looked at
again, nor split into words. Only commands that are run without a shell have them.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlqd.model import Job

_PLACE = re.compile(r"\{(id|queue|attempt|payload)(?:(?<=payload)\.([A-Za-z_][A-Za-z0-9_-]*))?\}")
_NEARLY = re.compile(r"\{(?:payload|id|queue|attempt)(?:[.\[:!][^{}]*)?\}")


class Lacking(Exception):
    """The payload does not have what an argument needs; the text says what."""


def problems(command: str | tuple[str, ...]) -> Iterator[tuple[int | None, str]]:
    """What is wrong with the placeholders of a command: the word's number, and what."""
    if isinstance(command, str):
        if found := _PLACE.search(command):
            yield (
                None,
                (
                    f"{found[0]} is not filled in for a shell, which would run what a payload says: "
                    'write "$SQLQD_PAYLOAD", or the command as an array'
                ),
            )
        return
    for number, word in enumerate(command):
        for found in _NEARLY.finditer(word):
            if _PLACE.fullmatch(found[0]) is None:
                known = "{payload}, {payload.field}, {id}, {queue} and {attempt}"
                yield number, f"{found[0]} is none of {known}"
    if _PLACE.search(command[0]):
        yield 0, "the program cannot come from a job: its arguments can"


def fields(command: str | tuple[str, ...]) -> frozenset[str]:
    """The fields of the payload that a command needs."""
    words = () if isinstance(command, str) else command
    return frozenset(found[2] for word in words for found in _PLACE.finditer(word) if found[2])


def filled(words: Sequence[str], job: "Job") -> list[str]:
    """The words with a job's parts in them. Raises Lacking."""
    payload = _parsed(job.payload) if any(fields((word,)) for word in words) else None
    plain = {"id": job.id, "queue": job.queue, "attempt": str(job.attempts), "payload": job.payload}

    def part(found: re.Match[str]) -> str:
        return plain[found[1]] if found[2] is None else _field(payload, found[2])

    return [_PLACE.sub(part, word) for word in words]


def _parsed(payload: str) -> object:
    import json  # noqa: PLC0415 - every configuration is checked by this module, few commands have fields

    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        raise Lacking("the payload is not valid JSON, of which the command needs a field") from None


def _field(payload: object, name: str) -> str:
    value = payload.get(name) if isinstance(payload, dict) else None
    if value is None:
        raise Lacking(f'the payload has no field "{name}", which the command needs')
    text = value if isinstance(value, str) else _spelled(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Refused here, where it is the job's fault: the system's refusal would hold the whole queue.
        raise Lacking(
            f'the payload\'s field "{name}" holds half a character, which no argument can'
        ) from None
    return text


def _spelled(value: object) -> str:
    import json  # noqa: PLC0415 - see _parsed

    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    except RecursionError:
        raise Lacking("the payload is nested too deeply for an argument") from None
