"""The short way for `enqueue`: click takes longer to load than this to add a job, and people and programs
wait for it thousands of times. It reads what is plain; help, mistakes and the unusual are left to click.
"""

import gc
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from sqlqd import exits
from sqlqd.cli import readers
from sqlqd.cli.options import ENQUEUE, WHERE, YES, Option
from sqlqd.cli.session import Session

_COMPLETION = "_SQLQD_COMPLETE"
_VERB = "enqueue"
_STANDARD_ERROR = 2
_BEFORE = {name: option for option in WHERE for name in option.names}
_BEHIND = _BEFORE | {name: option for option in ENQUEUE for name in option.names}


def execute(words: Sequence[str]) -> int | None:
    """Run the command; its exit status. None: nothing was done, for these words are not plain."""
    if _COMPLETION in os.environ:
        return None
    session = Session()
    try:
        given = read(session, words)
    except ValueError:
        return None
    if given["lines"] or given["wait"]:
        # It may last for days. What is loaded by now stays, and is not looked at.
        gc.freeze()
        gc.enable()
    return _run(session, given)


def _run(session: Session, given: Mapping[str, Any]) -> int:
    try:
        from sqlqd.cli.entering import enqueue  # noqa: PLC0415 - not before it is known to be used

        return enqueue(session, **given)
    except KeyboardInterrupt:
        # As click has it: what a terminal shows of Ctrl-C ends its line.
        with suppress(OSError):
            os.write(_STANDARD_ERROR, b"\n")
        return exits.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - here, too, every failure becomes a line and a status
        from sqlqd.cli.failure import report  # noqa: PLC0415 - only those who fail pay for it

        return report(error)


def read(session: Session, words: Sequence[str]) -> dict[str, Any]:
    """The parameters of the verb, by name. Raises ValueError for whatever is not plain."""
    rest = iter(words)
    places: list[str] = []
    given = {option.variable: option.unsaid for option in ENQUEUE}
    known, verb = _BEFORE, False
    for word in rest:
        if word == "--" and verb:
            places += rest
        elif len(word) > 1 and word.startswith("-"):
            option, value = _option(word, known, rest)
            if option in WHERE:
                session.choose(f"--{option.name}", value if option.read else YES)
            else:
                given[option.variable] = value
        elif verb:
            places.append(word)
        elif word == _VERB:
            known, verb = _BEHIND, True
        else:
            raise ValueError(word)
    queue, *payload = places
    if len(payload) > 1:
        raise ValueError(payload[1])
    return given | {"queue": readers.text(queue), "payload": payload[0] if payload else None}


def _option(word: str, known: Mapping[str, Option], rest: Iterator[str]) -> tuple[Option, Any]:
    """One option and its value, which may be the next word."""
    name, equals, value = word.partition("=")
    option = known.get(name)
    if option is None or (equals and not (option.read and name.startswith("--"))):
        raise ValueError(word)
    if option.read is None:
        return option, True
    if equals:
        return option, option.read(value)
    for value in rest:
        return option, option.read(value)
    raise ValueError(word)
