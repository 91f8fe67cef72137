"""The queue for programs: produce, and consume with code of one's own, without the daemon."""

import math
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sqlqd.clock import Clock, SystemClock
from sqlqd.identity import identity, open_files
from sqlqd.model import Claim, Done, Holder, NewJob, Retry, Rules, Verdict
from sqlqd.newjob import no_text
from sqlqd.store.base import Store, StoreError
from sqlqd.store.failures import JobRefused

if TYPE_CHECKING:
    from sqlqd.relics import Relics


class LeaseLost(StoreError):
    """The job is no longer this claim's: its lease ended and somebody else has it, or it is gone."""


class Queue:
    """An open queue. For one process, and one thread at a time; closed by `with` or `close`."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._pid = os.getpid()
        self._holder = Holder(os.urandom(8).hex(), 0, self._pid)
        self._served: tuple[str, ...] = ()
        self._last = ""
        self._relics: Relics | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Claims that are held stay held until their leases end."""
        self._own().close()

    def enqueue(
        self,
        queue: str,
        payload: str = "",
        *,
        delay: float = 0.0,
        run_at: float | None = None,
        priority: int = 0,
        key: str | None = None,
        max_attempts: int | None = None,
    ) -> str:
        """Add a job; on disk when this returns. Its id, or that of the live job that has the same key.

        `delay` is in seconds, `run_at` in Unix seconds, `priority` from -100 to 100, higher first.
        Raises JobRefused, StoreBusy, StoreFailed.
        """
        job = NewJob(
            queue=queue,
            payload=payload,
            run_at=run_at,
            delay=delay,
            priority=priority,
            key=key,
            max_attempts=max_attempts,
        )
        return self.enqueue_many([job])[0]

    def enqueue_many(self, jobs: Sequence[NewJob]) -> list[str]:
        """Add all or none in one transaction. Their ids, in order."""
        wanted = list(jobs)
        for job in wanted:
            if (why := no_text(job.payload)) is not None:
                raise JobRefused(why)
        return [added.id for added in self._own().enqueue(wanted)]

    def claim(self, *queues: str, lease: float = 30.0) -> Claim | None:
        """The next due job of the queues, which take turns, for `lease` seconds; None when nothing is due.

        A job whose lease ended is given out again. One that used up its attempts, 20 unless it says
        otherwise, goes to the dead jobs instead. Raises StoreBusy, StoreFailed.
        """
        if not queues:
            raise ValueError("name at least one queue to claim from")
        if not (0 < lease < math.inf):
            raise ValueError("a lease is a number of seconds above 0")
        store = self._own()
        self._end_leases(store)
        rules = [Rules(name, lease=lease) for name in dict.fromkeys(queues)]
        while True:
            taken = store.claim(self._holder, rules, after=self._before(queues))
            if taken.claim is not None:
                self._last = taken.claim.job.queue
            if taken.claim is not None or not taken.buried:
                return taken.claim

    def renew(self, claim: Claim, lease: float = 30.0) -> Claim:
        """Another lease from now. Raises LeaseLost, StoreBusy, StoreFailed."""
        renewed = self._own().renew(claim, lease)
        if renewed is None:
            raise _lost(claim)
        return renewed

    def finish(self, claim: Claim) -> None:
        """The job is done and gone. Raises LeaseLost, StoreBusy, StoreFailed."""
        self._settle(claim, Done())

    def retry_later(self, claim: Claim, delay: float = 60.0, *, error: str = "put off") -> None:
        """Unlock the job, due again in `delay` seconds; `error` says why. Raises as `finish` does."""
        self._settle(claim, Retry(self._clock.wall() + delay, error))

    def _end_leases(self, store: Store) -> None:
        """Those that are over, once nothing of a daemon that died runs for them any more."""
        over = store.overdue()
        if over:
            from sqlqd import relics  # noqa: PLC0415 - rarely needed, and costly to load

            self._relics = self._relics or relics.Relics(self._clock)
            if self._relics.end_of_leases(over):
                store.expire_leases(only={lease.token for lease in over})

    def _settle(self, claim: Claim, verdict: Verdict) -> None:
        if not self._own().settle(claim, verdict).kept:
            raise _lost(claim)

    def _before(self, queues: tuple[str, ...]) -> str:
        """The queue whose turn was last; at first, the one before the first that was named."""
        if queues != self._served:
            self._served = queues
            self._last = max((name for name in queues if name < queues[0]), default="")
        return self._last

    def _own(self) -> Store:
        if os.getpid() != self._pid:
            raise StoreError("an open queue does not survive a fork; connect again in the new process")
        return self._store


def connect(path: str | os.PathLike[str], *, busy_timeout: float = 5.0) -> Queue:
    """Open the queue in a file, and make it where there is none, with mode 0660.

    `busy_timeout` is how many seconds to wait while others keep it locked. Raises StoreError where this
    process has the file open already: a second SQLite on one file loses data. Also StoreMissing (no such
    directory), StoreDenied, StoreForeign, StoreBusy, StoreFailed.
    """
    # Not before somebody connects: a program that only uses `sqlqd.enqueue` keeps to its own SQLite.
    from sqlqd.store.sqlite import open_store  # noqa: PLC0415

    file = Path(path).absolute()
    _refuse_if_open(file)
    clock = SystemClock()
    return Queue(open_store(file, clock, busy_timeout=busy_timeout, create=True), clock)


def _refuse_if_open(file: Path) -> None:
    try:
        wanted = identity(file)
    except OSError:
        return
    if any(found == wanted for _, found in open_files()):
        raise StoreError(
            f"this process has {file} open already; close that first, "
            "or add jobs with sqlqd.enqueue and the sqlite3 connection you have"
        )


def _lost(claim: Claim) -> LeaseLost:
    return LeaseLost(f"job {claim.job.id} is no longer this claim's; leave it to whoever has it")
