"""What the journal has of one job, as journalctl tells it: a record at a time, whatever their number."""

import json
import math
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

_JOURNALCTL = ("journalctl", "--quiet", "--all", "--no-pager", "--output=json")
_FIELD = "SQLQD_"
_LEVELS = {"3": "error", "4": "warning", "5": "info", "6": "info", "7": "debug"}
_WHOLE = frozenset({"attempt", "count", "exit_code", "pid", "worker", "worker_pid"})
"""Fields that are whole numbers; in the journal everything is text."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One record."""

    at: float
    """Unix seconds."""
    message: str
    fields: dict[str, str | int | float]
    """As the log has them outside the journal, its level among them."""
    cursor: str
    """Where it stands: what comes later is asked for by it."""


class NoJournal(Exception):
    """The journal cannot be asked; the text says why."""


def entries(job_id: str, after: str | None = None) -> Iterator[Entry]:
    """The job's records that this user may read, the oldest first, from behind a cursor. Raises NoJournal."""
    words = [*_JOURNALCTL, *([f"--after-cursor={after}"] if after else []), f"SQLQD_JOB_ID={job_id}"]
    try:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError as error:
        raise NoJournal(f"journalctl cannot be started: {(error.strerror or str(error)).lower()}") from None
    with process:
        if process.stdout is None:
            return
        try:
            for line in process.stdout:
                if (found := _entry(line)) is not None:
                    yield found
        finally:
            process.kill()


def _entry(line: bytes) -> Entry | None:
    try:
        raw = json.loads(line)
        at = int(raw["__REALTIME_TIMESTAMP"]) / 1e6
        cursor = str(raw["__CURSOR"])
    except (ValueError, KeyError, TypeError):
        return None
    level = {"level": _LEVELS.get(_text(raw.get("PRIORITY")), "info")}
    ours = {
        name.removeprefix(_FIELD).lower(): _text(value)
        for name, value in raw.items()
        if name.startswith(_FIELD)
    }
    fields = {name: _plain(name, value) for name, value in (level | ours).items()}
    return Entry(at, _text(raw.get("MESSAGE")), fields, cursor)


def _plain(name: str, value: str) -> str | int | float:
    try:
        if name in _WHOLE:
            return int(value)
        if name.endswith("_seconds") and math.isfinite(seconds := float(value)):
            return seconds
    except ValueError:
        return value
    return value


def _text(value: object) -> str:
    """What is not UTF-8 comes as numbers, what comes several times as a list."""
    if isinstance(value, list):
        numbers = [one for one in value if isinstance(one, int)]
        return bytes(numbers).decode(errors="replace") if len(numbers) == len(value) else _text(value[0])
    return "" if value is None else str(value)
