"""The tables [schedules.NAME]: their keys, each declared once."""

import os
from collections.abc import Mapping
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlqd import timetable
from sqlqd.config import kinds, tables
from sqlqd.config.settings import DEFAULT_MAX_PAYLOAD
from sqlqd.config.tables import Problem, key
from sqlqd.payload import PayloadRefused, accept
from sqlqd.units import duration, spell

_YEAR = 31_557_600.0
_LOCAL_TIME = Path("/etc/localtime")
_LONGEST_NAME = 200


def _zone(raw: object) -> tzinfo:
    if not isinstance(raw, str) or not raw:
        raise kinds.Unfit(f'must be the name of a time zone such as "Europe/Berlin", not {kinds.show(raw)}')
    try:
        return UTC if raw == "UTC" else ZoneInfo(raw)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        missing = "" if Path("/usr/share/zoneinfo").exists() else "; the package tzdata is not installed"
        raise kinds.Unfit(f"is no time zone that this system knows: {kinds.show(raw)}{missing}") from None


def _cron(raw: object) -> str:
    if not isinstance(raw, str):
        raise kinds.Unfit(f'must be text such as "0 3 * * *", not {kinds.show(raw)}')
    try:
        return timetable.parsed(raw)
    except ValueError as wrong:
        raise kinds.Unfit(str(wrong)) from None


def local_zone() -> tzinfo:
    """The machine's own time zone: by $TZ, else by /etc/localtime, else UTC."""
    name = os.environ.get("TZ", "").removeprefix(":")
    if name:
        try:
            return ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return UTC
    try:
        with _LOCAL_TIME.open("rb") as file:
            return ZoneInfo.from_file(file, key=str(_LOCAL_TIME))
    except (OSError, ValueError):
        return UTC


class Setting(tables.Table):
    """One table [schedules.NAME]. Lengths are seconds."""

    queue: str = key(kinds.name, "where a job is added")
    cron: str | None = key(_cron, 'when: "0 3 * * *", "@daily"', default=None)
    every: float | None = key(kinds.length(1, _YEAR), "or how often", default=None)
    timezone: tzinfo | None = key(_zone, "of cron's fields; default: the machine's", default=None)
    payload: str = key(kinds.text, "the job's", default="")
    missed: timetable.Missed = key(
        kinds.choice({one.value: one for one in timetable.Missed}),
        "times that passed without a daemon: once, skip or all",
        default=timetable.Missed.ONCE,
    )
    overlap: bool = key(kinds.flag, "true: also while its last job waits or runs", default=False)
    jitter: float = key(kinds.length(0, 86_400), "each comes later by up to so much", default=0.0)


def read(
    name: str, raw: object, queues: Mapping[str, Mapping[str, Any]], problems: list[Problem]
) -> timetable.Schedule | None:
    """One table; None where something is wrong with it."""
    at = ("schedules", name)
    if not isinstance(raw, dict):
        problems.append((at, f"must be a table, not {kinds.show(raw)}"))
        return None
    before = len(problems)
    if not name.isprintable() or not name.strip() or len(name) > _LONGEST_NAME:
        problems.append((at, f"a schedule's name is 1 to {_LONGEST_NAME} characters that can be shown"))
    values = tables.fill(raw, Setting.keys, at, problems)
    problems += [((*at, *below), text) for below, text in _contradictions(raw, values, queues)]
    return _schedule(name, Setting(**values)) if len(problems) == before else None


def _contradictions(
    raw: dict[str, object], values: dict[str, Any], queues: Mapping[str, Mapping[str, Any]]
) -> list[Problem]:
    found: list[Problem] = []
    if "queue" not in raw:
        found.append((("queue",), "is missing: say where a job is added"))
    elif "queue" in values and values["queue"] not in queues:
        hint = tables.meant(values["queue"], tuple(queues))
        found.append((("queue",), f"is no queue of this configuration{hint}"))
    elif "queue" in values and ("payload" in raw) == ("payload" in values):
        found += _unfit(values.get("payload", ""), queues[values["queue"]])
    if ("cron" in raw) == ("every" in raw):
        found.append(((), "needs either cron or every"))
    if "every" in raw and "timezone" in raw:
        found.append((("timezone",), "says nothing with every: it goes with cron"))
    if values.get("missed") is timetable.Missed.ALL and not values.get("overlap"):
        found.append((("missed",), '"all" needs overlap = true: one would keep the others out'))
    return found


def _unfit(text: str, queue: Mapping[str, Any]) -> list[Problem]:
    """What its queue has against a payload: each of its jobs would be dead at once."""
    limit = queue.get("max_payload", DEFAULT_MAX_PAYLOAD)
    try:
        accept(text.encode(), limit=limit, json=queue.get("json", False))
    except PayloadRefused as refused:
        said = str(refused).removeprefix("payload ")
        return [(("payload",), f"its queue would have each job dead at once: {said}")]
    return []


def _schedule(name: str, setting: Setting) -> timetable.Schedule:
    when: timetable.Timetable
    if setting.every is not None:
        when, spec = timetable.Every(setting.every), f"every {setting.every:.15g}"
        length = spell(setting.every)
        times = f"every {length if duration(length) == setting.every else f'{setting.every:.15g}s'}"
    else:
        zone = setting.timezone or local_zone()
        when, spec = timetable.Cron(setting.cron or "", zone), f"{setting.cron} {zone}"
        times = f"{setting.cron} {setting.timezone or 'local time'}"
    return timetable.Schedule(
        name=name,
        queue=setting.queue,
        timetable=when,
        spec=spec,
        times=times,
        payload=setting.payload,
        missed=setting.missed,
        overlap=setting.overlap,
        jitter=setting.jitter,
    )
