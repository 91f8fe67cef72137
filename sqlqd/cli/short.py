"""The short way for `enqueue` and `run`: click takes longer to load than a job to be added, and people and
programs wait for that thousands of times; and what a daemon has loaded, each of its processes pays for.
It reads what is plain; help, mistakes and the unusual are left to click.
"""

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from sqlqd import exits
from sqlqd.cli import readers
from sqlqd.cli.options import ENQUEUE, RUN, WHERE, YES, Option
from sqlqd.cli.session import Session

_COMPLETION = "_SQLQD_COMPLETE"
_STANDARD_ERROR = 2


class Plain(NamedTuple):
    """A command line that was understood."""

    verb: str
    given: dict[str, Any]
    """The parameters of the verb, by name."""


def execute(words: Sequence[str]) -> int | None:
    """Run the command; its exit status. None: nothing was done, for these words are not plain."""
    if _COMPLETION in os.environ:
        return None
    session = Session()
    try:
        verb, given = read(session, words)
    except ValueError:
        return None
    return _tried(_VERBS[verb].perform, session, given)


def _tried(perform: "Perform", session: Session, given: Mapping[str, Any]) -> int:
    try:
        return perform(session, given)
    except KeyboardInterrupt:
        # As click has it: what a terminal shows of Ctrl-C ends its line.
        with suppress(OSError):
            os.write(_STANDARD_ERROR, b"\n")
        return exits.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - here, too, every failure becomes a line and a status
        from sqlqd.cli.failure import report  # noqa: PLC0415 - only those who fail pay for it

        return report(error)


def read(session: Session, words: Sequence[str]) -> Plain:
    """What the words say. Raises ValueError for whatever is not plain."""
    rest = iter(words)
    places: list[str] = []
    given: dict[str, Any] = {}
    known, verb = _names(WHERE), ""
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
        elif word in _VERBS:
            verb, known = word, known | _names(_VERBS[word].options)
        else:
            raise ValueError(word)
    if not verb:
        raise ValueError("no verb")
    unsaid = {option.variable: option.unsaid for option in _VERBS[verb].options}
    return Plain(verb, unsaid | given | _VERBS[verb].places(places))


def _names(options: Sequence[Option]) -> dict[str, Option]:
    return {name: option for option in options for name in option.names}


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


def _queue_and_payload(places: Sequence[str]) -> dict[str, Any]:
    queue, *payload = places
    if len(payload) > 1:
        raise ValueError(payload[1])
    return {"queue": readers.text(queue), "payload": payload[0] if payload else None}


def _nothing(places: Sequence[str]) -> dict[str, Any]:
    if places:
        raise ValueError(places[0])
    return {}


def _enqueue(session: Session, given: Mapping[str, Any]) -> int:
    if given["lines"] or given["wait"]:
        _last()
    from sqlqd.cli.entering import enqueue  # noqa: PLC0415 - not before it is known to be used

    return enqueue(session, **given)


def _run(session: Session, given: Mapping[str, Any]) -> int:
    _last()
    from sqlqd.cli.running import run  # noqa: PLC0415 - as above

    return run(session, **given)


def _last() -> None:
    """It may go on for days. What is loaded by now stays, and is not looked at."""
    gc.freeze()
    gc.enable()


Perform = Callable[[Session, Mapping[str, Any]], int]


class _Verb(NamedTuple):
    options: Sequence[Option]
    places: Callable[[Sequence[str]], dict[str, Any]]
    """The parameters that have no name. Raises ValueError where they are not plain."""
    perform: Perform


_VERBS = {
    "enqueue": _Verb(ENQUEUE, _queue_and_payload, _enqueue),
    "run": _Verb(RUN, _nothing, _run),
}
