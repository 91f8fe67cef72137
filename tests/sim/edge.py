"""The edge of the simulation: a process's way to the real store, on which things go wrong as asked."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol, TypeVar

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
from sqlqd.store.base import Interrupted, Store, StoreBusy, StoreFailed
from sqlqd.timetable import Past, Schedule
from tests.sim.ledger import Ledger

T = TypeVar("T")


class Killed(BaseException):
    """The process that is under way is no more."""


class Ill(Enum):
    """What can go wrong with one write."""

    BUSY = "others keep the lock: nothing was changed"
    FAILED = "it fails and nothing was changed"
    DOUBTFUL = "it is committed and fails nevertheless"
    DEATH_BEFORE = "the process is killed before the commit"
    DEATH_AFTER = "the process is killed after the commit"
    STOP_BEFORE = "the process stands still before the commit"
    STOP_AFTER = "the process stands still after the commit"


class Meanwhile(Enum):
    """What happens while a process stands still, besides that time goes by."""

    NOTHING = "the others go on"
    OTHERS_END = "the commands of the others end, and they look for more"
    TOLD = "it is told to leave"


@dataclass(frozen=True, slots=True)
class Trouble:
    """What happens once, to the next write of a process."""

    ill: Ill
    verbs: tuple[str, ...] = ()
    """Only to these; empty: to whichever comes first."""
    seconds: float = 0.0
    """For so long it stands still."""
    meanwhile: Meanwhile = Meanwhile.NOTHING


class Owner(Protocol):
    """The process that a store belongs to, as its edge sees it."""

    trouble: Trouble | None

    def stand_still(self, trouble: Trouble) -> None:
        """Everybody else goes on for a while; raises Killed where this one does not survive that."""
        ...

    def wait_for_lock(self, *, patient: bool, stop: Callable[[], bool], waiting: Callable[[], None]) -> bool:
        """Whether the write lock could be had."""
        ...

    def committed(self, verb: str) -> None:
        """A write was committed."""
        ...

    def took(self) -> None:
        """It was given a job."""
        ...

    def failed(self, verb: str) -> None:
        """A write failed."""
        ...

    def leased(self) -> Collection[str]:
        """The ids of jobs under a lease, at this moment."""
        ...

    def die(self) -> None:
        """It is killed: raises Killed."""
        ...


class Edge:
    """A store of one process. Commits are reported to the ledger before anything else is known of them."""

    def __init__(
        self,
        store: Store,
        owner: Owner,
        ledger: Ledger,
        *,
        stop: Callable[[], bool] = lambda: False,
        waiting: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._owner = owner
        self._ledger = ledger
        self._stop = stop
        self._waiting = waiting
        self._closed = False

    def close(self) -> None:
        """Close the connection; may be repeated."""
        if not self._closed:
            self._closed = True
            self._store.close()

    def _write(self, verb: str, act: Callable[[], T], *, patient: bool = True, stoppable: bool = False) -> T:
        owner = self._owner
        stop = self._stop if stoppable else (lambda: False)
        try:
            if stop():
                raise Interrupted("stopping")
            if not owner.wait_for_lock(patient=patient, stop=stop, waiting=self._waiting):
                raise Interrupted("stopping") if stop() else StoreBusy("locked by another")
            trouble = owner.trouble
            if trouble is None or verb not in (trouble.verbs or (verb,)):
                result = act()
                owner.committed(verb)
                return result
            owner.trouble = None
            self._before(trouble)
            result = act()
            owner.committed(verb)
            self._after(trouble)
        except (StoreBusy, StoreFailed):
            owner.failed(verb)
            raise
        return result

    def _before(self, trouble: Trouble) -> None:
        match trouble.ill:
            case Ill.BUSY:
                raise StoreBusy("busy, as planned")
            case Ill.FAILED:
                raise StoreFailed("failed before the commit, as planned")
            case Ill.DEATH_BEFORE:
                self._owner.die()
            case Ill.STOP_BEFORE:
                self._owner.stand_still(trouble)
            case _:
                pass

    def _after(self, trouble: Trouble) -> None:
        match trouble.ill:
            case Ill.DOUBTFUL:
                raise StoreFailed("failed after the commit, as planned")
            case Ill.DEATH_AFTER:
                self._owner.die()
            case Ill.STOP_AFTER:
                self._owner.stand_still(trouble)
            case _:
                pass

    # Producers.

    def enqueue(self, jobs: Sequence[NewJob]) -> list[Enqueued]:
        def act() -> list[Enqueued]:
            answers = self._store.enqueue(jobs)
            self._ledger.enqueued(jobs, answers)
            return answers

        return self._write("enqueue", act)

    # Workers.

    def claim(self, holder: Holder, queues: Sequence[Rules], *, after: str = "") -> Taken:
        def act() -> Taken:
            taken = self._store.claim(holder, queues, after=after)
            self._took(taken)
            return taken

        return self._write("claim", act, stoppable=True)

    def _took(self, taken: Taken) -> None:
        self._ledger.buried(taken.buried)
        if taken.claim is not None:
            self._ledger.claimed(taken.claim)
            self._owner.took()

    def renew(self, claim: Claim, lease: float) -> Claim | None:
        def act() -> Claim | None:
            renewed = self._store.renew(claim, lease)
            self._ledger.renewed(claim, renewed)
            return renewed

        return self._write("renew", act, patient=False)

    def settle(
        self,
        claim: Claim,
        verdict: Verdict,
        outcome: Outcome | None = None,
        *,
        then: tuple[Holder, Sequence[Rules]] | None = None,
    ) -> Settled:
        def act() -> Settled:
            settled = self._store.settle(claim, verdict, outcome, then=then)
            self._ledger.settled(claim, settled.verdict or verdict, kept=settled.kept)
            self._took(settled.next)
            return settled

        return self._write("settle", act)

    def asked(self, claim: Claim) -> Ask | None:
        return self._store.asked(claim)

    def progress(self, claim: Claim, progress: Progress) -> None:
        self._write("progress", lambda: self._store.progress(claim, progress), patient=False)

    def unblock(self, queue: str) -> None:
        self._write("unblock", lambda: self._store.unblock(queue), patient=False)

    def unblock_all(self, queues: Collection[str]) -> None:
        self._write("unblock", lambda: self._store.unblock_all(queues))

    # Processes.

    def worker_started(self, holder: Holder, daemon_pid: int, *, replaces: Iterable[str] = ()) -> list[Lost]:
        dead = tuple(replaces)
        return self._write(
            "worker_started",
            lambda: self._lost(self._store.worker_started(holder, daemon_pid, replaces=dead)),
        )

    def end_leases(self, uids: Iterable[str]) -> list[Lost]:
        dead = tuple(uids)
        return self._write("end_leases", lambda: self._lost(self._store.end_leases(dead)))

    def _lost(self, jobs: list[Lost]) -> list[Lost]:
        self._ledger.lost(jobs)
        return jobs

    def worker_stopped(self, uid: str) -> None:
        self._write("worker_stopped", lambda: self._store.worker_stopped(uid))

    def daemon_started(self, daemon: DaemonSeen) -> None:
        self._write("daemon_started", lambda: self._store.daemon_started(daemon))

    def forget_daemons(self, alive: Iterable[int]) -> None:
        living = tuple(alive)
        self._write("forget_daemons", lambda: self._store.forget_daemons(living))

    def overdue(self) -> list[Lease]:
        return self._store.overdue()

    def expire_leases(self, *, only: Collection[str] | None = None) -> list[Lost]:
        ended: list[Lost] = []

        def act() -> list[Lost]:
            nonlocal ended
            ended = self._lost(self._store.expire_leases(only=only))
            return ended

        result = self._write("expire_leases", act)
        if ended:
            self._owner.committed("ended leases")
        return result

    def outlook(self, queues: Sequence[Rules], *, limit: int) -> Outlook:
        return self._store.outlook(queues, limit=limit)

    def adopt_schedules(self, schedules: Sequence[Schedule]) -> None:
        self._write("adopt_schedules", lambda: self._store.adopt_schedules(schedules))

    def fire(self, schedules: Sequence[Schedule]) -> list[Fired]:
        return self._write("fire", lambda: self._store.fire(schedules))

    def schedule_past(self, schedule: Schedule) -> Past | None:
        return self._store.schedule_past(schedule)

    def tidy(self, queues: Sequence[Rules] = (), *, budget: float = 0.02) -> bool:
        return self._write("tidy", lambda: self._store.tidy(queues, budget=budget))

    def checkpoint(self) -> int:
        return self._store.checkpoint()

    @property
    def file(self) -> Identity:
        return self._store.file

    def check_file(self) -> None:
        self._store.check_file()

    # The operator's desk.

    def overview(self, configured: Iterable[str]) -> Overview:
        return self._store.overview(configured)

    def find(self, selection: Selection, *, order: Order = Order.OLDEST) -> Iterator[Record]:
        return self._store.find(selection, order=order)

    def not_live(self, ids: Sequence[str]) -> list[str]:
        return self._store.not_live(ids)

    def record(self, id_or_prefix: str) -> Record | None:
        return self._store.record(id_or_prefix)

    def circumstances(self, id_or_prefix: str, queues: Sequence[Rules]) -> Circumstances | None:
        return self._store.circumstances(id_or_prefix, queues)

    def backup(self, target: Path, *, replace: bool = False) -> int:
        return self._store.backup(target, replace=replace)

    def totals(self) -> tuple[Total, ...]:
        return self._store.totals()

    def condition(self) -> Condition:
        return self._store.condition()

    def damages(self, *, full: bool, seconds: float) -> tuple[str, ...] | None:
        return self._store.damages(full=full, seconds=seconds)

    def retry(self, selection: Selection, *, dry_run: bool = False) -> Touched:
        def act() -> Touched:
            touched = self._store.retry(selection, dry_run=dry_run)
            self._ledger.retried(touched)
            return touched

        return self._write("retry", act)

    def cancel(self, selection: Selection, *, dry_run: bool = False) -> Touched:
        def act() -> Touched:
            leased = self._owner.leased()
            touched = self._store.cancel(selection, dry_run=dry_run)
            self._ledger.cancelled(touched, leased)
            return touched

        return self._write("cancel", act)

    def kill(self, selection: Selection, *, bury: bool = False, dry_run: bool = False) -> Touched:
        def act() -> Touched:
            leased = self._owner.leased()
            touched = self._store.kill(selection, bury=bury, dry_run=dry_run)
            self._ledger.killed(touched, leased, bury=bury)
            return touched

        return self._write("kill", act)

    def running(self, queue: str | None = None) -> int:
        return self._store.running(queue)

    def pauses(self) -> tuple[Pause, ...]:
        return self._store.pauses()

    def pause(self, queues: Collection[str], *, seconds: float | None = None) -> None:
        self._write("pause", lambda: self._store.pause(queues, seconds=seconds))

    def resume(self, queues: Collection[str]) -> None:
        self._write("resume", lambda: self._store.resume(queues))

    def purge(self, selection: Selection, *, dry_run: bool = False) -> Touched:
        def act() -> Touched:
            touched = self._store.purge(selection, dry_run=dry_run)
            self._ledger.purged(touched)
            return touched

        return self._write("purge", act)
