"""The store on one SQLite file: every verb of `store/base.py`, each one transaction."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sqlqd.circumstances import Circumstances
from sqlqd.clock import Clock
from sqlqd.condition import Condition, Total
from sqlqd.identity import Identity
from sqlqd.model import (
    Ask,
    Bury,
    Cancel,
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
from sqlqd.store import backup as copying
from sqlqd.store import (
    breaking,
    circumstances,
    claiming,
    condition,
    desk,
    entry,
    finding,
    holds,
    leases,
    pauses,
    requests,
    settling,
    survey,
    upkeep,
)
from sqlqd.store import statements as sql
from sqlqd.store.database import Database, Moment, Wait
from sqlqd.store.housekeeping import Housekeeping
from sqlqd.store.ledger import storable
from sqlqd.store.schema import WITH_SCHEDULES, insist_on_newest
from sqlqd.store.turns import Turns

if TYPE_CHECKING:
    from sqlqd.timetable import Past, Schedule


def open_store(
    path: Path,
    clock: Clock,
    *,
    busy_timeout: float = 5.0,
    create: bool = False,
    migrate: bool = False,
    stop: Callable[[], bool] | None = None,
    waiting: Callable[[], None] | None = None,
    autocheckpoint: bool = True,
) -> "SqliteStore":
    """Open the file at `path`, in the process that will use it.

    `create` makes it, never its directory; `migrate` brings an older schema up to date. `busy_timeout`
    is in seconds. `stop` is asked while a claim waits for the lock and ends that wait; `waiting` is
    called at each step of any wait. Raises StoreMissing, StoreDenied, StoreForeign, StoreBusy, StoreFailed.
    """
    database = entry.opened(
        path,
        clock,
        busy_timeout=busy_timeout,
        create=create,
        migrate=migrate,
        stop=stop,
        waiting=waiting,
        autocheckpoint=autocheckpoint,
    )
    return SqliteStore(database)


class SqliteStore:
    """A queue's storage in one SQLite file. One object a process; it never crosses a fork."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._served: tuple[Rules, ...] = ()
        self._turns = Turns(())
        self._housekeeping = Housekeeping(database)

    def close(self) -> None:
        """Give up the connection. The object is useless afterwards."""
        self._database.close()

    # In: producers.

    def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        """Add all or none; on disk when it returns. One answer a job, in order."""
        return entry.enqueue(self._database, jobs)

    # Out: workers.

    def claim(self, holder: Holder, queues: Sequence[Rules], *, after: str = "") -> Taken:
        """Give out the next job. `None` with something buried: there may be more, look again."""
        insist_on_newest(self._database)
        turns = self._turns_of(queues)
        return self._database.write(
            lambda now: claiming.take(self._database, turns, holder, after, now),
            synced=False,
            wait=Wait.STOPPABLE,
        )

    def renew(self, claim: Claim, lease: float) -> Claim | None:
        """The claim with a lease of `lease` seconds from now; None: it is no longer ours."""
        return self._database.write(
            lambda now: leases.renew(self._database, claim, lease, now), synced=False, wait=Wait.NEVER
        )

    def settle(
        self,
        claim: Claim,
        verdict: Verdict,
        outcome: Outcome | None = None,
        *,
        then: tuple[Holder, Sequence[Rules]] | None = None,
    ) -> Settled:
        """End a claim, and claim the next job in the same transaction, unless the stop flag is raised."""

        def body(now: Moment) -> Settled:
            became = settling.settle(self._database, claim, verdict, outcome, now.wall)
            if became is None:
                return Settled(kept=False)
            held_for, freed = breaking.count(self._database, claim, became, outcome, now.wall)
            settled = Settled(kept=True, verdict=became, held_for=held_for, freed=freed)
            if then is None or self._database.stopped:
                return settled
            holder, queues = then
            turns = self._turns_of(queues)
            return replace(settled, next=claiming.take(self._database, turns, holder, claim.job.queue, now))

        return self._database.write(body, synced=isinstance(verdict, Bury | Cancel))

    def asked(self, claim: Claim) -> Ask | None:
        """What a person asked of a claim. Reads only."""
        return self._database.read(lambda _: requests.of(self._database, claim))

    def progress(self, claim: Claim, progress: Progress) -> None:
        """How far the job of a claim is. Tries for the lock once, as `renew` does."""

        def body(now: Moment) -> None:
            values = (claim.job.id, claim.token, progress.percent, storable(progress.text), now.wall)
            self._database.run(sql.PUT_PROGRESS, values)

        self._database.write(body, synced=False, wait=Wait.NEVER)

    def unblock(self, queue: str) -> None:
        """End a queue's hold. Tries for the lock once, as `renew` does."""
        holds.end(self._database, (queue,), Wait.NEVER)

    def unblock_all(self, queues: Collection[str]) -> None:
        """End the holds of these queues."""
        holds.end(self._database, queues, Wait.PATIENT)

    # Upkeep: processes.

    def worker_started(self, holder: Holder, daemon_pid: int, *, replaces: Iterable[str] = ()) -> list[Lost]:
        """Announce a worker; end the leases of the dead ones whose uids it replaces: those jobs."""
        dead = list(replaces)

        def body(now: Moment) -> list[Lost]:
            values = (holder.uid, daemon_pid, holder.slot, holder.pid, now.wall)
            self._database.run(sql.PUT_WORKER, values)
            return self._bury_workers(dead, now)

        return self._database.write(body, synced=False)

    def end_leases(self, uids: Iterable[str]) -> list[Lost]:
        """End the leases of workers that are known dead, and forget them: the jobs that they held."""
        dead = list(uids)
        return self._database.write(lambda now: self._bury_workers(dead, now), synced=False) if dead else []

    def _bury_workers(self, uids: Sequence[str], now: Moment) -> list[Lost]:
        ended: list[Lost] = []
        for uid in uids:
            held = leases.held_by(self._database, uid)
            ended += leases.end(self._database, held, "the worker died", now.wall)
            self._database.run(sql.FORGET_WORKER, (uid,))
        return ended

    def worker_stopped(self, uid: str) -> None:
        """Forget a worker that ends in order; where the lock is not to be had soon, that is for others."""
        self._database.write(
            lambda _: self._database.run(sql.FORGET_WORKER, (uid,)), synced=False, wait=Wait.BRIEF
        )

    def daemon_started(self, daemon: DaemonSeen) -> None:
        """Announce a daemon, or its new configuration; forget the workers of an earlier one of its pid."""
        values = (
            daemon.pid,
            daemon.started_at,
            daemon.loaded_at,
            daemon.version,
            daemon.config,
            daemon.workers,
        )

        def body(_: Moment) -> None:
            self._database.run(sql.PUT_DAEMON, values)
            self._database.run(sql.FORGET_WORKERS_OF_EARLIER, (daemon.pid, daemon.started_at))

        self._database.write(body, synced=False)

    def forget_daemons(self, alive: Iterable[int]) -> None:
        """Forget daemons and workers whose daemon's pid is not among the living."""
        upkeep.forget_daemons(self._database, frozenset(alive))

    def overdue(self) -> list[Lease]:
        """The leases that are over. Reads only."""
        return self._database.read(
            lambda now: leases.holders(self._database, leases.overdue(self._database, now))
        )

    def expire_leases(self, *, only: Collection[str] | None = None) -> list[Lost]:
        """End the leases that are over: their jobs. Takes the write lock only where there is one."""
        if not self._database.read(lambda now: leases.overdue(self._database, now, 1)):
            return []

        def body(now: Moment) -> list[Lost]:
            over = leases.overdue(self._database, now)
            if only is not None:
                over = leases.among(self._database, over, only)
            return leases.end(self._database, over, "the lease ran out", now.wall)

        return self._database.write(body, synced=False)

    def outlook(self, queues: Sequence[Rules], *, limit: int) -> Outlook:
        """How many jobs could be claimed now, up to `limit`, and when the next could be."""
        turns = self._turns_of(queues)
        return self._database.read(lambda now: upkeep.outlook(self._database, turns, limit, now.wall))

    def adopt_schedules(self, schedules: "Sequence[Schedule]") -> None:
        """Forget what edited schedules were before."""
        from sqlqd.store import schedules as memory  # noqa: PLC0415 - calendars are for few to load

        self._database.write(lambda _: memory.adopt(self._database, schedules), synced=False)

    def fire(self, schedules: "Sequence[Schedule]") -> list[Fired]:
        """Add what is due of schedules, each in a transaction of its own."""
        return [self._fire(schedule) for schedule in schedules]

    def _fire(self, schedule: "Schedule") -> Fired:
        from sqlqd.store import schedules as memory  # noqa: PLC0415 - calendars are for few to load

        idle = self._database.read(lambda now: memory.idle(self._database, schedule, now.wall))
        return idle or self._database.write(
            lambda now: memory.fire(self._database, schedule, now.wall), synced=True
        )

    def schedule_past(self, schedule: "Schedule") -> "Past | None":
        """When a schedule is due next, and was last; None: no daemon has seen it yet."""
        from sqlqd.store import schedules as memory  # noqa: PLC0415 - calendars are for few to load

        if self._database.schema < WITH_SCHEDULES:
            return None
        return self._database.read(lambda _: memory.past(self._database, schedule))

    def tidy(self, queues: Sequence[Rules] = (), *, budget: float = 0.02) -> bool:
        """One small step of housekeeping. True: there is more to do."""
        return self._housekeeping.tidy(queues, budget)

    def checkpoint(self) -> int:
        """Copy the log back into the database without waiting for anyone. Bytes left to do."""
        return self._database.checkpoint()

    @property
    def file(self) -> Identity:
        """Which file is open."""
        return self._database.identity

    def check_file(self) -> None:
        """Raise StoreReplaced where another file is at the path than is open, StoreMissing where none is."""
        self._database.check_file()

    # The operator's desk.

    def overview(self, configured: Iterable[str]) -> Overview:
        """Counts by queue and state, workers and daemons."""
        return survey.overview(self._database, configured)

    def find(self, selection: Selection, *, order: Order = Order.OLDEST) -> Iterator[Record]:
        """The jobs of a selection, without their histories; read as they are asked for."""
        return finding.find(self._database, selection, order)

    def not_live(self, ids: Sequence[str]) -> list[str]:
        """Those of these ids that no live job has, in their order."""
        return finding.not_live(self._database, ids)

    def record(self, id_or_prefix: str) -> Record | None:
        """One job, whole, with its history. Raises StoreError where a prefix fits several."""
        return survey.record(self._database, id_or_prefix)

    def circumstances(self, id_or_prefix: str, queues: Sequence[Rules]) -> Circumstances | None:
        """One job with its history, and what decides when it runs."""
        insist_on_newest(self._database)
        turns = self._turns_of(queues)
        return self._database.read(lambda now: circumstances.of(self._database, id_or_prefix, turns, now))

    def retry(self, selection: Selection, *, dry_run: bool = False) -> Touched:
        """Dead jobs live again with fresh attempts; those waiting in backoff are due now."""
        insist_on_newest(self._database)
        touched = desk.retry(self._database, selection, dry_run=dry_run)
        if selection.queue is None or dry_run:
            return touched
        return replace(touched, freed=holds.end(self._database, (selection.queue,), Wait.PATIENT))

    def cancel(self, selection: Selection, *, dry_run: bool = False) -> Touched:
        """Take waiting jobs away, each recorded as cancelled; running ones are asked to end."""
        insist_on_newest(self._database)
        return desk.cancel(self._database, selection, dry_run=dry_run)

    def kill(self, selection: Selection, *, bury: bool = False, dry_run: bool = False) -> Touched:
        """Ask running attempts to end; `bury`: for good, and move waiting jobs to the dead ones."""
        insist_on_newest(self._database)
        return desk.kill(self._database, selection, bury=bury, dry_run=dry_run)

    def purge(self, selection: Selection, *, dry_run: bool = False) -> Touched:
        """Delete dead jobs, or with the state done the records of ended ones."""
        insist_on_newest(self._database)
        return desk.purge(self._database, selection, dry_run=dry_run)

    def running(self, queue: str | None = None) -> int:
        """How many jobs run, of one queue or of all."""
        return self._database.read(lambda _: survey.running(self._database, queue))

    def pauses(self) -> tuple[Pause, ...]:
        """The pauses that hold now."""
        return self._database.read(lambda now: pauses.in_force(self._database, now.wall))

    def pause(self, queues: Collection[str], *, seconds: float | None = None) -> None:
        """Give out no jobs of these queues, "" meaning all, for so long or until they are resumed."""

        insist_on_newest(self._database)

        def body(now: Moment) -> None:
            until = None if seconds is None else now.wall + seconds
            pauses.begin(self._database, queues, until, now.wall)

        self._database.write(body, synced=True)

    def resume(self, queues: Collection[str]) -> None:
        """End the pauses of these queues."""
        insist_on_newest(self._database)
        self._database.write(lambda _: pauses.end(self._database, queues), synced=True)

    def backup(self, target: Path, *, replace: bool = False) -> int:
        """Write a copy of all to `target`, as it is at one moment: its bytes."""
        return copying.backup(self._database, target, replace=replace)

    def totals(self) -> tuple[Total, ...]:
        """How many attempts ended how, since the queue began."""
        return condition.totals(self._database)

    def condition(self) -> Condition:
        """What of the file's content may be wrong, as far as a quick look tells."""
        return condition.look(self._database)

    def damages(self, *, full: bool, seconds: float) -> tuple[str, ...] | None:
        """What is wrong with the file's structure; None: looking took longer than that."""
        return condition.damages(self._database, full=full, seconds=seconds)

    def _turns_of(self, queues: Sequence[Rules]) -> Turns:
        """Sorted once for as long as a caller serves the same queues."""
        served = tuple(queues)
        if served != self._served:
            self._served, self._turns = served, Turns(served)
        return self._turns
