"""The daemons that live on a database, as a person who may not even read their configuration sees them."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from sqlqd import presence
from sqlqd.circumstances import DaemonNow, Stage
from sqlqd.config import Config, ConfigError, Queue, load
from sqlqd.model import DaemonSeen


@dataclass(frozen=True, slots=True)
class Living:
    """Who lives on a database: by the locks that they hold, whatever the database says of them."""

    pids: tuple[int, ...]
    stopping: frozenset[int]
    by_hangup: frozenset[int] = frozenset()
    """Those that SIGHUP stops."""

    def stage(self, pid: int, announced: Collection[int]) -> Stage:
        """Where one of them is. A daemon announces itself in the database once it has one."""
        if pid in self.stopping:
            return Stage.STOPPING
        return Stage.RUNNING if pid in announced else Stage.STARTING


def living(database: Path) -> Living:
    """Who lives there. Raises OSError where that cannot be read."""
    return Living(
        tuple(presence.living(database)),
        frozenset(presence.stopping(database)),
        frozenset(presence.stopped_by_hangup(database)),
    )


def is_outdated(daemon: DaemonSeen) -> bool:
    """Whether its configuration was changed since it was loaded, or could not be loaded and it went on by
    the old one.
    """
    with suppress(OSError):
        return daemon.loaded_at < Path(daemon.config).stat().st_mtime
    return False


def at_work(config: Config, alive: Living, announced: Iterable[DaemonSeen]) -> list[DaemonNow]:
    """Each of those that live; the working ones first."""
    known = {daemon.pid: daemon for daemon in announced}
    found: list[DaemonNow] = []
    for pid in alive.pids:
        stage, daemon = alive.stage(pid, known), known.get(pid)
        path = str(config.path) if daemon is None else daemon.config
        outdated = daemon is not None and is_outdated(daemon)
        found.append(DaemonNow(pid, stage, path, outdated=outdated, hangup_stops=pid in alive.by_hangup))
    return sorted(found, key=lambda one: one.stage is not Stage.RUNNING)


def on_queue(config: Config, alive: Living, announced: Iterable[DaemonSeen], queue: str) -> list[DaemonNow]:
    """The same, with what each does with a queue by the configuration that it announced."""
    return [_on_queue(config, daemon, queue) for daemon in at_work(config, alive, announced)]


def _on_queue(config: Config, daemon: DaemonNow, queue: str) -> DaemonNow:
    queues = _queues(config, daemon.config)
    if queues is None:
        return replace(daemon, serves=None)
    served = queues.get(queue)
    return replace(
        daemon, serves=served is not None, concurrency=None if served is None else served.concurrency
    )


def _queues(config: Config, path: str) -> Mapping[str, Queue] | None:
    """Those of the file as it stands; None where it cannot be read."""
    if path == str(config.path):
        return config.queues
    with suppress(ConfigError):
        return load(Path(path)).queues
    return None
