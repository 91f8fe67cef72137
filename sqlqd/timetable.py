"""When the jobs of a schedule are due, and what becomes of the times that were missed. Pure.

Five fields as cron has them, with Debian cron's rules where the clocks change: what is set for a time that
does not exist runs at the jump, what is set for one that comes twice runs once; minutes and hours that begin
with `*` go on by real time.
"""

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from enum import Enum

from sqlqd.model import NewJob

NAMED = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FIELDS = 5

ON_TIME = 60.0
"""Seconds after its moment for which a run is not a missed one."""

MOST_AT_ONCE = 100
"""Missed runs that are made up for, the latest of them."""

_MOST_COUNTED = 1000
_FARTHEST = 400 * 366 * 86_400.0
_WRONG_CLOCK = 86_400.0
"""Seconds: a last run that is so far ahead was made by a clock that was wrong."""


class Missed(Enum):
    """What becomes of the times that passed while no daemon ran, or the machine slept."""

    ONCE = "once"
    """One run for all of them."""
    SKIP = "skip"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Every:
    """Times that are a length apart, counted from 1970, so that they are the same whoever counts."""

    seconds: float

    def after(self, moment: float) -> float | None:
        """The first time after a moment."""
        return (math.floor(moment / self.seconds) + 1) * self.seconds

    def until(self, moment: float) -> float:
        """The last time that is not after a moment."""
        return math.floor(moment / self.seconds) * self.seconds


@dataclass(frozen=True, slots=True)
class Cron:
    """Times by the calendar of a time zone."""

    fields: str
    zone: tzinfo

    def after(self, moment: float) -> float | None:
        """The first time after a moment, Unix seconds; None: there is none."""
        found = next(_cron(self.fields, self._local(moment)), None)
        at = None if found is None else found.timestamp()
        return None if at is None or at - moment > _FARTHEST else at

    def until(self, moment: float) -> float:
        """The last time that is not after a moment."""
        # The next whole second, since what is looked for lies before it.
        found = next(_cron(self.fields, self._local(math.floor(moment) + 1.0), reverse=True))
        return float(found.timestamp())

    def _local(self, moment: float) -> datetime:
        return datetime.fromtimestamp(moment, UTC).astimezone(self.zone)


def _cron(fields: str, start: datetime, *, reverse: bool = False) -> Iterator[datetime]:
    from cronsim import CronSim  # noqa: PLC0415 - slow to load, and few have schedules

    return CronSim(fields, start, reverse)


Timetable = Every | Cron


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One schedule: when which job is added."""

    name: str
    queue: str
    timetable: Timetable
    spec: str
    """What tells an edited schedule from the one before: the times, not the job."""
    times: str = ""
    """The same for people."""
    payload: str = ""
    missed: Missed = Missed.ONCE
    overlap: bool = False
    jitter: float = 0.0
    """Seconds; each run comes later by its own share of it, which is always the same."""

    def job(self, due: float) -> NewJob:
        """The job of one time. Its key sees to it that there is one, whoever adds it."""
        share = zlib.crc32(f"{self.name}/{due:.0f}".encode()) / 2**32
        key = f"schedule/{self.name}"
        if self.overlap:
            key += f"/{datetime.fromtimestamp(due, UTC):%Y-%m-%dT%H:%M:%SZ}"
        return NewJob(self.queue, self.payload, run_at=due + share * self.jitter, key=key)

    def job_now(self, now: float) -> NewJob:
        """The same job by hand, beside its times."""
        return self.job(now)._replace(run_at=now)


@dataclass(frozen=True, slots=True)
class Past:
    """What is known of a schedule's past, in Unix seconds."""

    next_at: float
    last_at: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What to add now, what is left out and why, and when to look again; None: never."""

    due: tuple[float, ...]
    skipped: str
    """Empty: nothing."""
    next_at: float | None


def parsed(text: str) -> str:
    """The five fields of a cron expression. Raises ValueError with what is wrong."""
    fields = NAMED.get(text.strip().lower(), text)
    if len(fields.split()) != _FIELDS:
        raise ValueError(
            'needs five fields (minute, hour, day, month, weekday), such as "0 3 * * *", '
            f"or one of {', '.join(NAMED)}"
        )
    from cronsim import CronSim, CronSimError  # noqa: PLC0415 - see _cron

    try:
        CronSim(fields, datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError as error:
        raise ValueError(f"is no time that cron knows: {str(error).lower()}") from None
    return " ".join(fields.split())


def decide(schedule: Schedule, past: Past | None, now: float) -> Decision:
    """What a schedule does at this moment. One that is new, or was edited, does nothing for the past."""
    table = schedule.timetable
    if past is None:
        return Decision((), "", table.after(now))
    last = past.last_at if past.last_at is not None and past.last_at <= now + _WRONG_CLOCK else None
    if past.next_at > now:
        # Earlier than it was thought where the clock was ahead; never a time that was run already.
        proper = table.after(now if last is None else max(now, last))
        return Decision((), "", proper)
    # Not one that ran before the clock was set back.
    times = [due for due in _between(table, past.next_at, now) if last is None or due > last]
    due = tuple(_chosen(schedule.missed, times, now))
    left_out = len(times) - len(due)
    return Decision(due, _why(schedule.missed, left_out, due), table.after(now))


def _between(table: Timetable, first: float, now: float) -> list[float]:
    """The times from the first to now: the latest ones, where there are very many."""
    times: list[float] = []
    at: float | None = first
    while at is not None and at <= now and len(times) < _MOST_COUNTED:
        times.append(at)
        at = table.after(at)
    if at is not None and at <= now:
        times = [*times[: _MOST_COUNTED - MOST_AT_ONCE], *_latest(table, now)]
    return times


def _latest(table: Timetable, now: float) -> Iterator[float]:
    found: list[float] = []
    at = now
    for _ in range(MOST_AT_ONCE):
        at = table.until(at)
        found.append(at)
        at -= 1.0
    return reversed(found)


def _chosen(missed: Missed, times: list[float], now: float) -> list[float]:
    if not times:
        return []
    match missed:
        case Missed.ALL:
            return times[-MOST_AT_ONCE:]
        case Missed.ONCE:
            return times[-1:]
        case Missed.SKIP:
            return times[-1:] if now - times[-1] <= ON_TIME else []


def _why(missed: Missed, left_out: int, due: tuple[float, ...]) -> str:
    if not left_out:
        return ""
    number = f"{left_out} or more" if left_out >= _MOST_COUNTED - MOST_AT_ONCE else str(left_out)
    times = "time was" if left_out == 1 else "times were"
    what = {
        Missed.ONCE: "one run stands for all" if due else "",
        Missed.SKIP: "missed runs are skipped",
        Missed.ALL: f"at most {MOST_AT_ONCE} are made up for",
    }[missed]
    return f"{number} {times} missed; {what}"
