"""Records of what happens: to the journal in its own protocol where standard error leads there, else one line
each to standard error, as JSON, or as text for people on a terminal.

A record never waits for its reader and never raises: where the reader is stuck or gone it is dropped and
counted; some are kept for journald first. A line holds at most 4096 bytes, which the kernel writes to a pipe
in one piece, so that the records of several processes never mix. The payload of a job is never logged.
"""

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlqd.clock import Clock, SystemClock
from sqlqd.events import EVENTS, LEVELS
from sqlqd.log import render
from sqlqd.log.journal import SOCKET, Journal, encoded, leads_to_journal
from sqlqd.log.pipe import LogPipe

Fields = Mapping[str, Any]

_FORMATS = ("auto", "journal", "json", "console")
_OURS = frozenset({"event", "level", "timestamp"})
_STANDARD_ERROR = 2


class _State:
    """What this process logs to; a child of a fork inherits it."""

    clock: Clock = SystemClock()
    pipe: LogPipe | Journal | None = None
    put: Callable[[Fields], None] | None = None
    """Renders a record and hands it to the pipe."""
    least = 0
    """The place among LEVELS of the first that is logged."""
    told: int = 0
    """How many dropped records the log tells of."""


def setup(log_format: str, level: str, *, clock: Clock | None = None, fd: int = _STANDARD_ERROR) -> None:
    """Log to `fd` from now on. `log_format` is auto, journal, json or console; `level` one of events.LEVELS.

    Where there is no journald its records go to `fd`.
    """
    if log_format not in _FORMATS:
        raise ValueError(f"log_format is one of {', '.join(_FORMATS)}, not {log_format!r}")
    if _State.pipe is not None:
        _State.pipe.close()
    _State.told = 0
    _State.clock = clock or SystemClock()
    native = log_format == "journal" or (log_format == "auto" and leads_to_journal(fd))
    if native and SOCKET.exists():
        journal = _State.pipe = Journal()
        _State.put = lambda fields: journal.write(encoded(fields))
    else:
        people = log_format == "console" or (log_format == "auto" and os.isatty(fd))
        lines, rendered = LogPipe(fd), _console(fd) if people else render.as_json
        _State.pipe = lines
        _State.put = lambda fields: lines.write(rendered(fields))
    _State.least = LEVELS.index(level)


def event(name: str, /, **fields: object) -> None:
    """Log one event of the table. A field that is None does not apply and is left out."""
    if _State.pipe is None:
        setup("auto", "info")
    _log(name, fields)
    _tell_of_losses()


def flush() -> bool:
    """Send what the journal would not take so far. True: nothing waits any more."""
    pipe = _State.pipe
    if pipe is None or not pipe.kept:
        return True
    pipe.flush()
    _tell_of_losses()
    return not pipe.kept


def forget() -> None:
    """In a child of a fork: leave what waits to be sent to the parent, and its losses too."""
    if _State.pipe is not None:
        _State.pipe.forget()
        _State.pipe.dropped = _State.told = 0


def dropped() -> int:
    """How many records this process could not write so far."""
    return _State.pipe.dropped if _State.pipe is not None else 0


def _tell_of_losses() -> None:
    lost = dropped()
    if lost > _State.told and _State.pipe is not None and _State.pipe.flows:
        _log("log.dropped", {"count": lost - _State.told})
        _State.told = lost


def _log(name: str, fields: Fields) -> None:
    level = EVENTS[name].level
    if _State.put is None or LEVELS.index(level) < _State.least:
        return
    moment = datetime.fromtimestamp(_State.clock.wall(), UTC)
    core = {
        "timestamp": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": level,
        "event": name,
        "pid": os.getpid(),
    }
    said = {f"{key}_" if key in _OURS else key: value for key, value in fields.items() if value is not None}
    _State.put(core | said)


def _console(fd: int) -> Callable[[Fields], str]:
    colour = os.isatty(fd) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def rendered(fields: Fields) -> str:
        return render.as_text(fields, EVENTS[fields["event"]].wording, colour=colour)

    return rendered
