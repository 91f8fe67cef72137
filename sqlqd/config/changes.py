"""What a configuration that was loaded again changes, in a few words. Names only: values may be secrets."""

from collections.abc import Sequence

from sqlqd.config.settings import Config
from sqlqd.printable import printable

_NAMED = 8
"""Queues that are named; of more only the number is told."""


def lasting(old: Config, new: Config) -> Config:
    """The new configuration with what only a restart changes as it was."""
    return new._replace(daemon=new.daemon.replaced(database=old.daemon.database))


def changes(old: Config, new: Config) -> str:
    """What is different in the new one, on one line."""
    parts = [
        _queues("added", [name for name in new.queues if name not in old.queues]),
        _queues("removed", [name for name in old.queues if name not in new.queues]),
        _queues("changed", [name for name, one in new.queues.items() if old.queues.get(name, one) != one]),
        *_daemon(old, new),
    ]
    if old.daemon.database != new.daemon.database:
        where = printable(str(old.daemon.database))
        parts.append(f"the database stays {where} until the daemon is restarted")
    return "; ".join(part for part in parts if part) or "nothing changed"


def _queues(what: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    told = ", ".join(printable(name) for name in names) if len(names) <= _NAMED else f"{len(names)} of them"
    return f"queues {what}: {told}"


def _daemon(old: Config, new: Config) -> list[str]:
    names = [name for name in vars(old.daemon) if name != "database"]
    pairs = [(name, getattr(old.daemon, name), getattr(new.daemon, name)) for name in names]
    return [f"{name} {before} -> {after}" for name, before, after in pairs if before != after]
