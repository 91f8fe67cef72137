"""Whether somebody is at work on a job that is under a lease, and what `why` says where nobody is."""

import os
from typing import TYPE_CHECKING

from sqlqd.cli import daemons
from sqlqd.cli.session import Session
from sqlqd.config.places import start
from sqlqd.model import Lease, Record, State
from sqlqd.store.base import StoreError
from sqlqd.why import why

if TYPE_CHECKING:
    from sqlqd.store.base import Store

ORPHANED = "orphaned"
"""What a list calls a job whose worker is gone: to look at it is under a lease, like those that run."""

_NOBODY = frozenset({"holder_gone", "lease_over"})


class Holding:
    """Looks at the holders of many jobs of one database, at each that is there only once."""

    def __init__(self, session: Session, store: "Store") -> None:
        self._config = session.config
        self._store = store
        self._living: frozenset[str] = frozenset()

    def amiss(self, record: Record) -> str | None:
        """Why nobody is at work on it, as part of a sentence; None: it runs, as far as can be known, or is
        not said to.
        """
        lease = Lease(record.id, record.locked_by or "")
        if record.state is not State.RUNNING or not lease.slot or lease.uid in self._living:
            return None
        try:
            # Read after the record: whoever claimed it was announced by then.
            seen = self._store.circumstances(record.id, ())
            alive = daemons.living(self._config.daemon.database)
        except (StoreError, OSError):
            return None
        if seen is None:
            return None
        self._living = frozenset(one.uid for one in seen.workers if one.daemon_pid in alive.pids)
        at_work = daemons.at_work(self._config, alive, seen.daemons)
        reason = why(seen, at_work, start(self._config.path, os.environ)).reasons[0]
        return reason.clause if reason.code in _NOBODY else None
