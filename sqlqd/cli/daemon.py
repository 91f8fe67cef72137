"""Puts the daemon together from a configuration: what its parent supervises, and what each child does."""

import gc
import os
import signal
import sys
from contextlib import suppress
from functools import partial
from types import TracebackType

from sqlqd import exits, log, presence, proc, systemd
from sqlqd.cli.failure import report
from sqlqd.clock import SystemClock
from sqlqd.config import Config
from sqlqd.model import Lease, Selection, State
from sqlqd.parent import Parent, Plot, plan
from sqlqd.relics import Relics, log_ended
from sqlqd.seat import Child, Role
from sqlqd.steward import steward
from sqlqd.store.base import StoreBusy, StoreError
from sqlqd.store.library import is_safe, version
from sqlqd.store.sqlite import open_store
from sqlqd.worker import work

_STEWARD_WAITS = 0.5
"""Seconds for the database's lock: a steward gives way to those who hold leases."""

_LEASE = 30.0
"""The shortest lease where no queue is configured."""


def supervise(config: Config) -> int:
    """Be the daemon's parent until its end; the exit status."""
    ignored = proc.reset_dispositions()
    notices = systemd.take()
    log.setup(config.daemon.log_format, config.daemon.log_level)
    sys.excepthook = _log_mistake
    if not is_safe(version()):
        log.event("database.library", version=version())
    terminal = any(os.isatty(descriptor) for descriptor in (0, 1, 2))
    parent = Parent(
        Plot(
            prepare=partial(_prepare, config),
            children=_children(config),
            workers=config.daemon.workers,
            database=config.daemon.database,
            limits=_limits(config),
            clock=SystemClock(),
            notices=notices,
            hangup_stops=terminal and not notices.heard and signal.SIGHUP not in ignored,
        )
    )
    # What is loaded by now, the children share as long as nobody's collector touches it.
    gc.collect()
    gc.freeze()
    return parent.run()


def _children(config: Config) -> dict[Role, Child]:
    daemon, clock = config.daemon, SystemClock()
    opened = partial(open_store, daemon.database, clock, autocheckpoint=False)
    return {
        Role.STEWARD: partial(
            steward,
            config=config,
            open_store=partial(opened, busy_timeout=min(daemon.busy_timeout, _STEWARD_WAITS)),
            started_at=clock.wall(),
        ),
        Role.WORKER: partial(
            work, config=config, open_store=partial(opened, busy_timeout=daemon.busy_timeout)
        ),
    }


def _limits(config: Config) -> plan.Limits:
    queues = config.queues.values()
    return plan.Limits(
        drain=plan.drain_limit((queue.drain_timeout, queue.kill_grace) for queue in queues),
        shortest_lease=min((queue.lease for queue in queues), default=_LEASE),
    )


def _prepare(config: Config) -> int:
    """Make the database, or bring it up to date, and end what a dead daemon left; or say why it cannot be."""
    daemon, clock = config.daemon, SystemClock()
    try:
        store = open_store(
            daemon.database, clock, busy_timeout=daemon.busy_timeout, create=True, migrate=True
        )
        for queue in config.queues:
            # Whoever starts a daemon may have mended what held it. Under a lock that ends by itself.
            with suppress(StoreBusy):
                store.unblock(queue)
        running = store.find(Selection(states=frozenset({State.RUNNING})))
        held = [Lease(job.id, job.locked_by or "") for job in running]
        store.close()
        living = presence.living(daemon.database)
        Relics(clock, log_ended).end_of_dead_daemons(daemon.database, held, living)
    except (StoreError, OSError) as error:
        return report(error)
    return exits.OK


def _log_mistake(_kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """One record instead of a traceback over many lines."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else ""
    log.event("process.failed", reason=f"{type(error).__name__}: {error}{where}")
