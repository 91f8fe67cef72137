"""What really happened to every job, as the store committed it, and what therefore must be true.

The simulation's edge reports each commit here before anything else can go wrong. Whatever the processes
believe, the database must agree with this account at any time.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from sqlqd.clock import Clock
from sqlqd.model import (
    Ask,
    Buried,
    Bury,
    Cancel,
    Claim,
    Done,
    Enqueued,
    Lost,
    NewJob,
    Release,
    Retry,
    Rules,
    Touched,
    Verdict,
)


class Broken(AssertionError):
    """A promise was broken."""


def hold(promise: object, text: str) -> None:
    """Fail where a promise does not hold."""
    if not promise:
        raise Broken(text)


class Place(Enum):
    """Where a job stands, waiting and running ones both in `jobs`."""

    LIVE = "jobs"
    DEAD = "dead_jobs"
    DONE = "done_jobs"
    PURGED = "nowhere"


@dataclass(slots=True)
class Account:
    """One job."""

    id: str
    queue: str
    due: float
    """Unix seconds."""
    max_attempts: int | None = None
    place: Place = Place.LIVE
    attempts: int = 0
    """Claims less those that were given back."""
    token: str | None = None
    """The last claim, until it is settled."""
    boot: str = ""
    crashes: int = 0
    unfit: bool = False
    """It can never run."""
    outcome: str = ""
    kept_until: float = 0.0


@dataclass(frozen=True, slots=True)
class Row:
    """One row of one of the three tables."""

    place: Place
    id: str
    attempts: int
    token: str | None = None
    outcome: str = ""


@dataclass(slots=True)
class Ledger:
    """The account of all jobs."""

    clock: Clock
    rules: Mapping[str, Rules]
    jobs: dict[str, Account] = field(default_factory=dict)
    succeeded: set[str] = field(default_factory=set)
    """Tokens of claims whose command exited 0."""
    given_up: set[str] = field(default_factory=set)
    """Tokens of claims that their worker took for lost."""
    interrupted: set[str] = field(default_factory=set)
    """Tokens of claims whose command was ended because its worker was to leave."""
    asked: dict[str, Ask] = field(default_factory=dict)
    """What people asked of claims, by their tokens: what goes furthest."""
    latest: float = 0.0
    """The latest that the wall clock ever showed."""

    def enqueued(self, jobs: Iterable[NewJob], answers: Iterable[Enqueued]) -> None:
        """Jobs were added, or found by their keys."""
        now = self.clock.wall()
        for job, answer in zip(jobs, answers, strict=True):
            if answer.created:
                due = now + job.delay if job.run_at is None else job.run_at
                self.add(Account(answer.id, job.queue, due, job.max_attempts))
            else:
                held = self.jobs.get(answer.id)
                hold(held and held.place is Place.LIVE, f"the key's job {answer.id} is not live")

    def add(self, account: Account) -> None:
        """A row was committed."""
        hold(account.id not in self.jobs, f"{account.id} was made twice")
        self.jobs[account.id] = account

    def claimed(self, claim: Claim) -> None:
        """A job was given out."""
        job = self._live(claim.id, "was claimed")
        rules = self.rules[job.queue]
        hold(not job.unfit, f"{job.id} can never run and was given out")
        if job.token is None:
            early = job.due - self.clock.wall()
            hold(early <= 1e-6, f"{job.id} was given out {early:.3f} s before it was due")
        elif job.boot == self.clock.boot():
            job.crashes += 1
        hold(self._asked(job.token) in (None, Ask.KILL), f"{job.id} was ended for good and runs again")
        job.attempts += 1
        most = job.max_attempts or rules.max_attempts
        hold(job.attempts <= most, f"{job.id} was given out {job.attempts} times of {most}")
        hold(claim.attempts == job.attempts, f"{job.id}: attempt {job.attempts} is called {claim.attempts}")
        crashes = f"{job.id} was given out after {job.crashes} crashes of {rules.max_crashes}"
        hold(job.crashes < rules.max_crashes, crashes)
        job.token, job.boot = claim.token, self.clock.boot()

    def buried(self, jobs: Iterable[Buried]) -> None:
        """Jobs were found that can never run (again)."""
        for one in jobs:
            job = self._live(one.id, "was buried")
            most = job.max_attempts or self.rules[job.queue].max_attempts
            lost = job.token is not None and one.reason.startswith("worker lost")
            hold(job.unfit or job.attempts >= most or lost, f"{job.id} was buried: {one.reason}")
            job.place, job.token = Place.DEAD, None

    def renewed(self, claim: Claim, renewed: Claim | None) -> None:
        """A lease was prolonged, or was found to be another's."""
        job = self.jobs[claim.id]
        hold((job.token == claim.token) is (renewed is not None), f"{job.id}: a wrong answer to a renewal")

    def settled(self, claim: Claim, verdict: Verdict, *, kept: bool) -> None:
        """A claim was ended, or was found to be another's."""
        job = self.jobs[claim.id]
        hold((job.token == claim.token) is kept, f"{job.id}: a wrong answer to the end of a claim")
        hold(claim.token not in self.given_up, f"{job.id}: a claim was settled that had been given up")
        asked = self._asked(claim.token)
        spared = claim.token not in self.interrupted or isinstance(verdict, Release) or asked
        hold(spared, f"{job.id}: a stop of the daemon cost it an attempt")
        if not kept:
            return
        job.token = None
        cancelled = asked is not Ask.CANCEL or isinstance(verdict, Done | Cancel)
        hold(cancelled, f"{job.id} was cancelled and then {verdict}")
        hold(asked is not Ask.BURY or isinstance(verdict, Done | Bury), f"{job.id} was buried: {verdict}")
        match verdict:
            case Done():
                hold(claim.token in self.succeeded, f"{job.id} is done and never succeeded")
                self._end(job, "done", claim.keep_done)
            case Cancel():
                self._end(job, "cancelled", max(claim.keep_done, 86_400.0))
            case Bury():
                job.place = Place.DEAD
            case Retry(at, _):
                job.due = at
            case Release(_, at):
                job.attempts -= 1
                job.due = job.due if at is None else at

    def retried(self, touched: Touched) -> None:
        """A person brought dead jobs back, and made others due."""
        for record in touched.jobs:
            job = self.jobs[record.id]
            if job.place is Place.DEAD:
                job.place, job.attempts, job.crashes = Place.LIVE, 0, 0
            job.due = self.clock.wall()

    def cancelled(self, touched: Touched, leased: Collection[str]) -> None:
        """A person took jobs away; those under a lease are only asked to end."""
        for record in touched.jobs:
            job = self._live(record.id, "was cancelled")
            if job.id in leased:
                self._ask(job, Ask.CANCEL)
                continue
            # The holder of a lost job may still be there, and finds that it has nothing left.
            job.token = None
            self._end(job, "cancelled", 86_400.0)

    def killed(self, touched: Touched, leased: Collection[str], *, bury: bool) -> None:
        """A person wants attempts ended."""
        for record in touched.jobs:
            job = self._live(record.id, "was killed")
            if job.id in leased:
                self._ask(job, Ask.BURY if bury else Ask.KILL)
            else:
                hold(bury, f"{job.id} does not run and was killed")
                job.place, job.token = Place.DEAD, None

    def lost(self, jobs: Iterable[Lost]) -> None:
        """Leases were ended for their holders, and what was asked of those was done."""
        for one in jobs:
            job = self._live(one.id, "was lost")
            asked = self._asked(job.token)
            hold(one.gone in (None, asked), f"{job.id} was to {asked}, and {one.gone} was done")
            hold(asked in (None, Ask.KILL, one.gone), f"{job.id} was to {asked}, which was forgotten")
            if one.gone is Ask.CANCEL:
                self._end(job, "cancelled", 86_400.0)
                job.token = None
            elif one.gone is Ask.BURY:
                job.place, job.token = Place.DEAD, None

    def _asked(self, token: str | None) -> Ask | None:
        return None if token is None else self.asked.get(token)

    def _ask(self, job: Account, ask: Ask) -> None:
        assert job.token is not None
        before = self.asked.get(job.token)
        if before is None or before.further < ask.further:
            self.asked[job.token] = ask

    def purged(self, touched: Touched) -> None:
        """A person deleted dead jobs."""
        for record in touched.jobs:
            hold(self.jobs[record.id].place is Place.DEAD, f"{record.id} was purged and was not dead")
            self.jobs[record.id].place = Place.PURGED

    def check(self, rows: Iterable[Row]) -> None:
        """Every job is where it must be, once, and nothing else is there."""
        self.latest = max(self.latest, self.clock.wall())
        found: dict[str, Row] = {}
        for row in rows:
            hold(row.id in self.jobs, f"{row.id} is in {row.place.value} and nobody added it")
            hold(row.id not in found, f"{row.id} is in two tables")
            found[row.id] = row
        for job in self.jobs.values():
            row = found.get(job.id, Row(Place.PURGED, job.id, 0))
            if row.place is Place.PURGED and job.place is Place.DONE:
                hold(job.kept_until <= self.latest, f"the record of {job.id} was lost")
                continue
            hold(row.place is job.place, f"{job.id} is in {row.place.value}, not in {job.place.value}")
            if job.place is Place.LIVE:
                hold(row.token == job.token, f"{job.id} is held by {row.token}, not by {job.token}")
            if job.place in (Place.LIVE, Place.DEAD):
                told = f"{job.id} says {row.attempts} attempts, it had {job.attempts}"
                hold(row.attempts == job.attempts, told)
            hold(row.outcome == job.outcome or job.place is not Place.DONE, f"{job.id} is {row.outcome}")

    def _live(self, job_id: str, what: str) -> Account:
        job = self.jobs.get(job_id)
        hold(job and job.place is Place.LIVE, f"{job_id} {what} and is not live")
        assert job is not None
        return job

    def _end(self, job: Account, outcome: str, keep: float) -> None:
        job.place, job.outcome = Place.DONE, outcome
        job.kept_until = self.clock.wall() + keep
