"""One thing that decides when a job runs, and the words that all of these are told in."""

from dataclasses import dataclass, field

from sqlqd.moments import beside, local
from sqlqd.printable import printable

_LONGEST = 200
"""Characters of another's words in a sentence."""
_ID = 12

Numbers = dict[str, str | int | float | None]


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that decides about the job."""

    code: str
    clause: str
    """In words, as part of a sentence."""
    numbers: Numbers = field(default_factory=dict)
    """What the words say, for programs: `…_at` and `…_until` are Unix seconds, `…_seconds` lengths."""


def no_daemon(start: str) -> Reason:
    """Nobody would run it. `start`: the commands that start a daemon."""
    return Reason("no_daemon", f"no daemon is running ({printable(start)} starts one)")


def many(count: int, noun: str) -> str:
    """A count with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def at(moment: float | None, now: float) -> str:
    """A moment, and how far that is from now."""
    return "an unknown moment" if moment is None else f"{local(moment)} ({beside(moment, now)})"


def short(job_id: str) -> str:
    """The part of an id by which people name a job."""
    return printable(job_id)[:_ID]


def said(text: str | None) -> str:
    """What others wrote, on one line."""
    line = printable((text or "").split("\n", 1)[0])
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
