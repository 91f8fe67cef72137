"""Choosing jobs: the arguments and options that list, retry, cancel and purge have in common."""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sqlqd.cli import complete, values
from sqlqd.cli.failure import Refused
from sqlqd.cli.session import Session, unknown
from sqlqd.model import SHORTEST_PREFIX, Selection, State

if TYPE_CHECKING:
    from sqlqd.store.base import Store

_NAMED = 5
"""Ids that one message names."""
_STANDARD_INPUT = 0
_PIECE = 1024 * 1024
_MOST = 64 * 1024 * 1024
"""Bytes of ids that are read from standard input."""

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--queue",
        callback=values.text,
        metavar="NAME",
        help="Of this queue.",
        shell_complete=complete.queues,
    ),
    click.option("--key", callback=values.text, metavar="KEY", help="With this key."),
    click.option("--error", callback=values.text, metavar="TEXT", help="Whose last error contains this."),
    click.option(
        "--older-than", callback=values.duration, metavar="DUR", help="Made, or if ended: ended, longer ago."
    ),
    click.option(
        "--newer-than", callback=values.duration, metavar="DUR", help="Made, or if ended: ended, since then."
    ),
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most this many."),
)
_CHANGING = (
    click.option("--dry-run", is_flag=True, help="Only say what would be done."),
    click.option(
        "--yes",
        is_flag=True,
        help="Do not ask before more than 20 jobs; without a terminal nothing is asked anyway.",
    ),
)


def selecting(*states: State, changing: bool) -> Callable[[Command], Command]:
    """Give a command `ids` and the options of a selection; `changing`: those of verbs that change jobs."""
    words = [state.value for state in states]
    state = click.option(
        "--state", "states", type=click.Choice(words), multiple=True, help="In this state; may be repeated."
    )

    def decorate(command: Command) -> Command:
        for option in reversed((*_OPTIONS, state, *(_CHANGING if changing else ()))):
            command = option(command)
        return command

    return decorate


def selection(options: Mapping[str, Any], ids: Iterable[str]) -> Selection:
    """The selection that the options of `selecting` describe."""
    return Selection(
        ids=tuple(ids),
        queue=options["queue"],
        states=frozenset(State(word) for word in options["states"]),
        key=options["key"],
        error=options["error"],
        older_than=options["older_than"],
        newer_than=options["newer_than"],
        limit=options["limit"],
    )


def is_empty(wanted: Selection) -> bool:
    """Whether nothing was selected: a limit alone chooses nothing."""
    return Selection(limit=wanted.limit) == wanted


def read_ids(arguments: Iterable[str]) -> list[str]:
    """The ids among a verb's arguments, with those of standard input in the place of `-`."""
    ids: dict[str, None] = {}
    for argument in arguments:
        if argument == "-":
            ids |= dict.fromkeys(parse_ids(_standard_input()))
        else:
            ids[_decoded(os.fsencode(argument))] = None
    return list(ids)


def parse_ids(data: bytes) -> list[str]:
    """One id a line; blank lines say nothing."""
    return [_decoded(line) for each in data.split(b"\n") if (line := each.strip())]


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("an id is not UTF-8") from None


def _standard_input() -> bytes:
    pieces: list[bytes] = []
    size = 0
    while piece := os.read(_STANDARD_INPUT, _PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > _MOST:
            raise Refused("too many ids on standard input; select the jobs by --queue or --state")
    return b"".join(pieces)


def is_used(store: "Store", queue: str) -> bool:
    """Whether there are jobs of a queue, configured or not."""
    return next(store.find(Selection(queue=queue, limit=1)), None) is not None


def check_queue(session: Session, store: "Store", name: str | None) -> None:
    """Refuse the name of a queue that is neither configured nor has jobs: it is a slip of the pen."""
    queues = session.config.queues
    if name is not None and name not in queues and not is_used(store, name):
        raise Refused(unknown(name, queues))


def missing(asked: Sequence[str], found: Iterable[str]) -> list[str]:
    """The ids or prefixes that none of the found ids answers to."""
    known = sorted(found)

    def answered(prefix: str) -> bool:
        at = bisect_left(known, prefix)
        return at < len(known) and known[at].startswith(prefix)

    return [each for each in asked if not answered(each)]


def no_such(ids: Sequence[str]) -> str:
    """What to tell of ids that no job has."""
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    short = any(len(each) < SHORTEST_PREFIX for each in ids)
    hint = f"; a prefix needs at least {SHORTEST_PREFIX} characters" if short else ""
    return f"no such job: {', '.join(ids[:_NAMED])}{more}{hint}"
