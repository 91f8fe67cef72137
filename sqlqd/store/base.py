"""What a store of jobs does, in verbs named by intent; `tests/store` holds the suite that defines them.

A store has its clock from whoever opens it and reads it after the write lock is had. Expected results
are values: no job is `Taken(None)`, a lost lease is `False`. What can pass by itself is `StoreBusy`;
only loops catch it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sqlqd.circumstances import Circumstances
from sqlqd.condition import Condition, Total
from sqlqd.identity import Identity
from sqlqd.model import (
    Ask,
    Claim,
    DaemonSeen,
    Enqueued,
    Fired,
    Holder,
    Lease,
    Lost,
    NewJob,
    Order,
    Outcome,
    Outlook,
    Overview,
    Pause,
    Progress,
    Record,
    Rules,
    Selection,
    Settled,
    Taken,
    Touched,
    Verdict,
)
from sqlqd.store.failures import Interrupted as Interrupted
from sqlqd.store.failures import JobRefused as JobRefused
from sqlqd.store.failures import KeyTaken as KeyTaken
from sqlqd.store.failures import QueueFull as QueueFull
from sqlqd.store.failures import StoreBusy as StoreBusy
from sqlqd.store.failures import StoreDenied as StoreDenied
from sqlqd.store.failures import StoreError as StoreError
from sqlqd.store.failures import StoreFailed as StoreFailed
from sqlqd.store.failures import StoreForeign as StoreForeign
from sqlqd.store.failures import StoreMissing as StoreMissing
from sqlqd.store.failures import StoreReplaced as StoreReplaced

if TYPE_CHECKING:
    from sqlqd.timetable import Past, Schedule


class Store(Protocol):
    """A queue's storage. One object a process; it never crosses a fork."""

    def close(self) -> None:
        """Give up the connection. The object is useless afterwards."""
        ...

    # In: producers.

    def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Add all or none; on disk when it returns. One answer a job, in order."""
        ...

    # Out: workers.

    def claim(self, holder: Holder, queues: Sequence[Rules], *, after: str = "") -> Taken:
        """Give out the next job, its attempts raised, under a fresh token.

        Lost jobs come first; then the queues that have something due take turns, beginning behind
        `after`; within a queue the higher priority, then the earlier `run_at`, then the order of
        arrival. Paused, blocked and full queues are passed over. Jobs that can never run are buried
        on the way; no claim where something was buried means: there may be more, look again.
        Raises Interrupted when the stop flag was raised while it waited for the lock.
        """
        ...

    def renew(self, claim: Claim, lease: float) -> Claim | None:
        """The claim with a lease of `lease` seconds from now; None: it is no longer ours.

        Tries for the lock once and raises StoreBusy: its caller watches a command and must not wait.
        """
        ...

    def settle(
        self,
        claim: Claim,
        verdict: Verdict,
        outcome: Outcome | None = None,
        *,
        then: tuple[Holder, Sequence[Rules]] | None = None,
    ) -> Settled:
        """End a claim, the only way out of one; and claim the next job in the same transaction.

        Matches the token; where it does not match nothing is changed, `kept` is False and nothing is
        claimed. `outcome` goes into the log of attempts and the record of a done job.
        """
        ...

    def asked(self, claim: Claim) -> Ask | None:
        """What a person asked of a claim: its holder ends the command, then settles. Reads only.

        A claim that ends otherwise is settled so that the job does not run again where that was asked.
        """
        ...

    def progress(self, claim: Claim, progress: Progress) -> None:
        """How far the job of a claim is. Tries once, as `renew` does; nothing where the claim is over."""
        ...

    def unblock(self, queue: str) -> None:
        """A command of the queue could be started: it is no longer held. Tries once, as `renew` does."""
        ...

    def unblock_all(self, queues: Collection[str]) -> None:
        """What held any of these queues may be mended: they are no longer held. Waits for the lock."""
        ...

    # Upkeep: processes.

    def worker_started(self, holder: Holder, daemon_pid: int, *, replaces: Iterable[str] = ()) -> list[Lost]:
        """Announce a worker; end the leases of the dead ones whose uids it replaces: those jobs.

        They become claimable at once, each with one crash more.
        """
        ...

    def end_leases(self, uids: Iterable[str]) -> list[Lost]:
        """End the leases of workers that are known dead, and forget them: the jobs that they held."""
        ...

    def worker_stopped(self, uid: str) -> None:
        """Forget a worker that ends in order. Hardly waits for the lock: it is about to leave."""
        ...

    def daemon_started(self, daemon: DaemonSeen) -> None:
        """Announce a daemon, or its new configuration; workers of an earlier one of its pid are gone."""
        ...

    def forget_daemons(self, alive: Iterable[int]) -> None:
        """Forget daemons and workers whose daemon's pid is not among the living. Hardly waits for a lock."""
        ...

    def overdue(self) -> list[Lease]:
        """Leases whose end has passed on the awake clock or that are of another boot. Reads only.

        Whoever ends them sees to it first that nothing runs any more for those of this boot.
        """
        ...

    def expire_leases(self, *, only: Collection[str] | None = None) -> list[Lost]:
        """End the leases that are over, or of those only the ones with these tokens: their jobs."""
        ...

    def outlook(self, queues: Sequence[Rules], *, limit: int) -> Outlook:
        """How many jobs could be claimed now, up to `limit`, and when the next could be.

        Passes over what `claim` passes over, so that whoever waits on the answer does not spin.
        """
        ...

    def adopt_schedules(self, schedules: "Sequence[Schedule]") -> None:
        """Forget what edited schedules were before: at a start, and when a configuration is loaded."""
        ...

    def fire(self, schedules: "Sequence[Schedule]") -> list[Fired]:
        """Add what is due of schedules; on disk when it returns. One answer a schedule, in order.

        A job for each time, exactly, however many daemons look at the same schedule.
        """
        ...

    def schedule_past(self, schedule: "Schedule") -> "Past | None":
        """When a schedule is due next, and was last; None: no daemon has seen it yet."""
        ...

    def tidy(self, queues: Sequence[Rules] = (), *, budget: float = 0.02) -> bool:
        """One small step of housekeeping: old records, old dead jobs of these queues, folded counters, room
        given back to the file system. It has the lock for about `budget` seconds. True: there is more to do.
        """
        ...

    def checkpoint(self) -> int:
        """Copy the log back into the database without waiting for anyone. Bytes left in the log."""
        ...

    @property
    def file(self) -> Identity:
        """Which file is open."""
        ...

    def check_file(self) -> None:
        """Raise StoreReplaced where another file is at the path than is open, StoreMissing where none is."""
        ...

    # The operator's desk.

    def overview(self, configured: Iterable[str]) -> Overview:
        """Counts by queue and state, workers and daemons."""
        ...

    def find(self, selection: Selection, *, order: Order = Order.OLDEST) -> Iterator[Record]:
        """The jobs of a selection, without their histories; read as they are asked for.

        Those that it names by ids come in the order in which it names them.
        """
        ...

    def not_live(self, ids: Sequence[str]) -> list[str]:
        """Those of these ids that no live job has, in their order; cheap for thousands."""
        ...

    def record(self, id_or_prefix: str) -> Record | None:
        """One job, whole, with its history. Raises StoreError where a prefix fits several."""
        ...

    def circumstances(self, id_or_prefix: str, queues: Sequence[Rules]) -> Circumstances | None:
        """One job with its history, and what decides when it runs, where these queues are served.

        Raises StoreError where a prefix fits several.
        """
        ...

    def retry(self, selection: Selection, *, dry_run: bool = False) -> Touched:
        """Dead jobs live again with fresh attempts; those waiting in backoff are due now.

        A queue that the selection names is no longer held for a command that could not be started.
        """
        ...

    def cancel(self, selection: Selection, *, dry_run: bool = False) -> Touched:
        """Take waiting jobs away, each recorded as cancelled; running ones are asked to end so."""
        ...

    def kill(self, selection: Selection, *, bury: bool = False, dry_run: bool = False) -> Touched:
        """Ask running attempts to end, as a failure; waiting jobs are skipped.

        `bury`: they are not tried again, and waiting jobs move to the dead ones too.
        """
        ...

    def purge(self, selection: Selection, *, dry_run: bool = False) -> Touched:
        """Delete dead jobs, or with the state done the records of ended ones."""
        ...

    def running(self, queue: str | None = None) -> int:
        """How many jobs run, of one queue or of all."""
        ...

    def pauses(self) -> tuple[Pause, ...]:
        """The pauses that hold now, that of all queues first."""
        ...

    def pause(self, queues: Collection[str], *, seconds: float | None = None) -> None:
        """Give out no jobs of these queues, "" meaning all, for so long or until they are resumed.

        On disk when it returns. What runs, runs on.
        """
        ...

    def resume(self, queues: Collection[str]) -> None:
        """End the pauses of these queues. That of all queues ends only where "" is among them."""
        ...

    def backup(self, target: Path, *, replace: bool = False) -> int:
        """Write a copy of all to `target`, as it is at one moment, on disk when it returns: its bytes.

        `replace` a file that is there. No job runs in the copy: those that do begin anew there, without a
        crash. Raises StoreError; `target` is as it was then.
        """
        ...

    def totals(self) -> tuple[Total, ...]:
        """How many attempts ended how, since the queue began."""
        ...

    def condition(self) -> Condition:
        """What of the file's content may be wrong, as far as a quick look tells."""
        ...

    def damages(self, *, full: bool, seconds: float) -> tuple[str, ...] | None:
        """What is wrong with the file's structure, the first few; None: looking took longer than that.

        `full`: indexes are compared with their tables, too.
        """
        ...


Opener = Callable[[], Store]
"""Opens a store in the process that calls it."""
