"""Puts the daemon together from a configuration: what its parent supervises, and what each child does."""

import faulthandler
import gc
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from sqlqd import account, delegation, exits, log, presence, proc, systemd
from sqlqd.cgroup import Domain
from sqlqd.cli import confined
from sqlqd.cli.failure import report
from sqlqd.clock import SystemClock
from sqlqd.config import Config, ConfigError, load
from sqlqd.config.changes import changes, lasting
from sqlqd.model import Lease, Selection, State
from sqlqd.parent import Parent, Plot, plan
from sqlqd.parent.orders import Orders, Refused
from sqlqd.printable import printable
from sqlqd.relics import Relics, log_ended
from sqlqd.seat import Child, Role
from sqlqd.steward import steward
from sqlqd.store.base import StoreError
from sqlqd.store.library import is_safe, version
from sqlqd.store.sqlite import open_store
from sqlqd.worker import work

_STANDARD_ERROR = 2

_STEWARD_WAITS = 0.5
"""Seconds for the database's lock: a steward gives way to those who hold leases."""

_BRIEF = 200
"""Characters of a problem that fit on a status line."""

_LEASE = 30.0
"""The shortest lease where no queue is configured."""


def supervise(config: Config, *, paused: bool = False) -> NoReturn:
    """Be the daemon's parent until its end, and that of the process; its exit status is the daemon's.

    `paused`: it claims nothing until somebody resumes all queues.
    """
    ignored = proc.reset_dispositions()
    # A watchdog ends what hangs by SIGABRT: then, and at a crash, the log shows where each process stood.
    faulthandler.enable(_STANDARD_ERROR)
    notices = systemd.take()
    proc.call_myself_parent(f", {printable(str(config.path))}")
    _set_up_log(config)
    sys.excepthook = _log_mistake
    if not is_safe(version()):
        log.event("database.library", version=version())
    terminal = any(os.isatty(descriptor) for descriptor in (0, 1, 2))
    cgroups = delegation.take()
    _warn_of_limits(config, cgroups)
    desk = _Desk(config, cgroups)
    parent = Parent(
        Plot(
            prepare=partial(_prepare, config, cgroups, paused=paused),
            orders=desk.orders(config, loaded_at=desk.started_at),
            reload=desk.reload,
            database=config.daemon.database,
            clock=SystemClock(),
            notices=notices,
            hangup_stops=terminal and not notices.heard and signal.SIGHUP not in ignored,
            cgroups=cgroups,
        )
    )
    # What is loaded by now, the children share as long as nobody's collector touches it.
    gc.collect()
    gc.freeze()
    proc.leave(parent.run())


class _Desk:
    """The configuration in force, and how another one takes its place."""

    def __init__(self, config: Config, cgroups: Domain | None) -> None:
        self._config = config
        self._cgroups = cgroups
        self._clock = SystemClock()
        self.started_at = self._clock.wall()

    def reload(self) -> Orders | Refused:
        """Read the same file again."""
        # Before it is read: who changes it meanwhile has changed it since.
        loaded_at = self._clock.wall()
        path = self._config.path
        try:
            new = load(path, users=account.hindrance)
        except ConfigError as error:
            return _refused(error.problems, path)
        except Exception as error:  # noqa: BLE001 - whatever is the matter with a file, commands run on
            return _refused((f"{path}: cannot be loaded: {type(error).__name__}: {error}",), path)
        served, named = self._config.daemon.database, new.daemon.database
        if served != named:
            # Whoever adds jobs reads the new file already: they wait where nobody looks.
            log.event("daemon.database_stays", database=str(served), reason=str(named))
        return self.orders(lasting(self._config, new), loaded_at=loaded_at, news=changes(self._config, new))

    def orders(self, config: Config, *, loaded_at: float, news: str = "") -> Orders:
        """What follows from a configuration."""
        return Orders(
            children=_children(config, self._cgroups, started_at=self.started_at, loaded_at=loaded_at),
            workers=config.daemon.workers,
            limits=_limits(config),
            news=news,
            adopt=partial(self._adopt, config),
        )

    def _adopt(self, config: Config) -> None:
        self._config = config
        _set_up_log(config)
        _warn_of_limits(config, self._cgroups)


def _warn_of_limits(config: Config, cgroups: Domain | None) -> None:
    """Log what of the queues' limits will not be in force, and what would bring it."""
    now = confined.together([cgroups])
    for queue in config.queues.values():
        for reason in confined.warnings(queue, now):
            log.event("queue.limits_missing", queue=queue.name, reason=reason)


def _set_up_log(config: Config) -> None:
    log.setup(config.daemon.log_format, config.daemon.log_level)


def _refused(problems: Sequence[str], path: Path) -> Refused:
    first = problems[0].removeprefix(f"{path.parent}/")
    others = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return Refused("; ".join(problems), f"{printable(first[:_BRIEF])}{others}")


def _children(
    config: Config, cgroups: Domain | None, *, started_at: float, loaded_at: float
) -> dict[Role, Child]:
    daemon, clock = config.daemon, SystemClock()
    opened = partial(open_store, daemon.database, clock, autocheckpoint=False)
    return {
        Role.STEWARD: partial(
            steward,
            config=config,
            open_store=partial(opened, busy_timeout=min(daemon.busy_timeout, _STEWARD_WAITS)),
            started_at=started_at,
            loaded_at=loaded_at,
        ),
        Role.WORKER: partial(
            work,
            config=config,
            open_store=partial(opened, busy_timeout=daemon.busy_timeout),
            cgroups=cgroups,
        ),
    }


def _limits(config: Config) -> plan.Limits:
    queues = config.queues.values()
    return plan.Limits(
        drain=plan.drain_limit((queue.drain_timeout, queue.kill_grace) for queue in queues),
        shortest_lease=min((queue.lease for queue in queues), default=_LEASE),
    )


def _prepare(config: Config, cgroups: Domain | None, *, paused: bool) -> int:
    """Make the database, or bring it up to date, and end what a dead daemon left; or say why it cannot be."""
    daemon, clock = config.daemon, SystemClock()
    try:
        store = open_store(
            daemon.database, clock, busy_timeout=daemon.busy_timeout, create=True, migrate=True
        )
        if paused:
            store.pause([""])
        running = store.find(Selection(states=frozenset({State.RUNNING})))
        held = [Lease(job.id, job.locked_by or "") for job in running]
        store.close()
        living = presence.living(daemon.database)
        relics = Relics(clock, log_ended)
        relics.end_of_dead_daemons(daemon.database, held, living)
        if cgroups is not None:
            leaves = cgroups.of_all()
            relics.end_of_enclosure(leaves)
            leaves.remove()
    except (StoreError, OSError) as error:
        return report(error)
    return exits.OK


def _log_mistake(_kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """One record instead of a traceback over many lines."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else ""
    log.event("process.failed", reason=f"{type(error).__name__}: {error}{where}")
