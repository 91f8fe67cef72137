"""What the journal has of one job, as journalctl tells it: a record at a time, whatever their number."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

_JOURNALCTL = ("journalctl", "--quiet", "--all", "--no-pager", "--output=json")
_FIELD = "SQLQD_"


@dataclass(frozen=True, slots=True)
class Entry:
    """One record."""

    at: float
    """Unix seconds."""
    message: str
    fields: dict[str, str]
    """By their names outside the journal."""
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
    fields = {
        name.removeprefix(_FIELD).lower(): _text(value)
        for name, value in raw.items()
        if name.startswith(_FIELD)
    }
    return Entry(at, _text(raw.get("MESSAGE")), fields, cursor)


def _text(value: object) -> str:
    """What is not UTF-8 comes as numbers, what comes several times as a list."""
    if isinstance(value, list):
        numbers = [one for one in value if isinstance(one, int)]
        return bytes(numbers).decode(errors="replace") if len(numbers) == len(value) else _text(value[0])
    return "" if value is None else str(value)
