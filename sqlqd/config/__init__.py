"""The configuration: where it is found, and how its text becomes plain values or a list of what is wrong."""

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlqd.config import kinds, tables
from sqlqd.config.agreement import contradictions, merged
from sqlqd.config.errors import ConfigDenied, ConfigError
from sqlqd.config.kinds import Path as Place
from sqlqd.config.kinds import show
from sqlqd.config.places import locate
from sqlqd.config.settings import Config, Daemon, Queue
from sqlqd.config.tables import Problem
from sqlqd.printable import printable

if TYPE_CHECKING:
    from sqlqd.timetable import Schedule

__all__ = ["Config", "ConfigDenied", "ConfigError", "Daemon", "Queue", "load", "locate"]

_TABLES = ("daemon", "defaults", "queues", "schedules")
_PATHS = frozenset({"database", "cwd", "env_file"})
_KINDS: Mapping[str | int, str] = {"queues": "queue", "schedules": "schedule"}
_LARGEST = 1024 * 1024
"""Bytes of a configuration file; what is longer is something else."""
_LONGEST_NAME = 200
_POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_HUGE = re.compile(r"[0-9_]{4000}")
_PLAINER = {
    "Cannot overwrite": "this key is set twice",
    "Cannot mutate": "this key is set twice",
    "Cannot declare": "this table is there twice",
}
"""What tomllib says in its own words, by its beginning."""


def load(path: Path, *, users: Callable[[str], str | None] = lambda _: None) -> Config:
    """Read and check a configuration file; raises ConfigError with every problem of it.

    `users` says what speaks against a user whom commands are to run as. Who only adds jobs does not ask.
    """
    path = Path(os.path.abspath(path))  # noqa: PTH100 - as in locate
    text = _text(path)
    raw = _parsed(path, text)
    problems: list[Problem] = []
    keys = dict(Queue.keys)
    keys["user"] = keys["user"]._replace(kind=kinds.user(users))
    config = _checked(path, raw, keys, problems)
    if config is None:
        raise ConfigError(*_lines(path, text, problems))
    return config


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except PermissionError:
        from sqlqd import rights  # noqa: PLC0415 - only those who may not pay for it

        raise ConfigDenied(f"{path}: no permission to read it; {rights.to_read(path)}") from None
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; `sqlqd -c {path} init` writes one to begin with") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > _LARGEST:
        raise ConfigError(f"{path}: is larger than 1 MiB and cannot be a configuration")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: is not UTF-8 here: save the file as UTF-8") from None


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{path}:1: arrays or tables are nested too deep") from None
    except ValueError as error:
        said = str(error)
        place = _POSITION.search(said)
        line = text.rstrip().count("\n") + 1
        if place:
            line = int(place[1] or line)
            said = said[: place.start()]
        elif not isinstance(error, tomllib.TOMLDecodeError):
            said = "a number is too long"
            line = 1 + next((at for at, each in enumerate(text.split("\n")) if _HUGE.search(each)), 0)
        raise ConfigError(f"{path}:{line}: {_plain(said)}") from None


def _plain(said: str) -> str:
    return next((text for start, text in _PLAINER.items() if said.startswith(start)), printable(said))


def _checked(
    path: Path, raw: Mapping[str, Any], keys: Mapping[str, tables.Key], problems: list[Problem]
) -> Config | None:
    problems += [
        ((name,), f"unknown table{tables.meant(name, _TABLES)}") for name in raw if name not in _TABLES
    ]
    daemon = _table(raw, "daemon", Daemon.keys, problems)
    if "database" not in raw.get("daemon", {}):
        problems.append((("daemon", "database"), "is missing: say where the queue's file is to be"))
    defaults = _table(raw, "defaults", keys, problems)
    queues = raw.get("queues", {})
    if not isinstance(queues, dict):
        problems.append((("queues",), f"must be tables such as [queues.mail], not {show(queues)}"))
        queues = {}
    if "drain_timeout" in daemon:
        defaults.setdefault("drain_timeout", daemon["drain_timeout"])
    common = raw.get("defaults", {})
    read = {name: _queue(name, queue, keys, common, problems) for name, queue in queues.items()}
    whole = {name: merged(name, defaults, own) for name, own in read.items()}
    problems += contradictions(whole)
    schedules = _schedules(raw, whole, problems)
    if problems:
        return None
    return Config(
        path=path,
        daemon=Daemon(**_absolute(daemon, path.parent)),
        queues={name: Queue(name=name, **_absolute(queue, path.parent)) for name, queue in whole.items()},
        schedules=schedules,
    )


def _schedules(
    raw: Mapping[str, Any], queues: Mapping[str, Mapping[str, Any]], problems: list[Problem]
) -> "dict[str, Schedule]":
    tables_of = raw.get("schedules", {})
    if not tables_of:
        return {}
    from sqlqd.config import schedules  # noqa: PLC0415 - few have any, and calendars are slow to load

    if not isinstance(tables_of, dict):
        problems.append((("schedules",), f"must be tables such as [schedules.daily], not {show(tables_of)}"))
        return {}
    read = {name: schedules.read(name, table, queues, problems) for name, table in tables_of.items()}
    return {name: schedule for name, schedule in read.items() if schedule is not None}


def _table(
    raw: Mapping[str, Any], name: str, keys: Mapping[str, tables.Key], problems: list[Problem]
) -> dict[str, Any]:
    table = raw.get(name, {})
    if isinstance(table, dict):
        return tables.fill(table, keys, (name,), problems)
    problems.append(((name,), f"must be a table, not {show(table)}"))
    return {}


def _queue(
    name: str,
    raw: object,
    keys: Mapping[str, tables.Key],
    defaults: Mapping[str, Any],
    problems: list[Problem],
) -> dict[str, Any]:
    at = ("queues", name)
    if not name.isprintable() or not name.strip() or len(name) > _LONGEST_NAME:
        problems.append((at, f"a queue's name is 1 to {_LONGEST_NAME} characters that can be shown"))
    if not isinstance(raw, dict):
        problems.append((at, f"must be a table, not {show(raw)}"))
        return {}
    if "command" not in raw and "command" not in defaults:
        problems.append(((*at, "command"), "is missing: say what runs for each job"))
    return tables.fill(raw, keys, at, problems)


def _absolute(values: Mapping[str, Any], base: Path) -> dict[str, Any]:
    """The values with paths counted from the configuration's directory."""
    return {name: base / value if name in _PATHS else value for name, value in values.items()}


def _lines(path: Path, text: str, problems: Iterable[Problem]) -> list[str]:
    """The problems as `file:line: text`, in the order of the file."""
    from sqlqd.config import tomlpos  # noqa: PLC0415 - only needed when something is wrong

    known = tomlpos.lines(text)
    told = sorted((_line(known, at), f"{_where(at)}: {what}") for at, what in problems)
    return [f"{path}:{line}: {what}" for line, what in told]


def _line(known: Mapping[Place, int], at: Place) -> int:
    while at and at not in known:
        at = at[:-1]
    return known.get(at, 1)


def _where(at: Place) -> str:
    if at[0] in _KINDS and len(at) > 1:
        rest = tables.spell(at[2:])
        return f"{_KINDS[at[0]]} {show(at[1])}" + (f": {rest}" if rest else "")
    return tables.spell(at)
