"""Jobs on their way into the table, inside a transaction."""

import math
import os
from collections.abc import Iterator, Sequence
from itertools import islice

from sqlqd.newjob import LATEST, Conflict, Enqueued, NewJob
from sqlqd.store import statements as sql
from sqlqd.store.database import Database
from sqlqd.store.failures import JobRefused, KeyTaken, QueueFull
from sqlqd.store.ledger import count
from sqlqd.store.schema import WITH_POLICIES, insist_on_newest

_ALIKE = 1000
"""Ids that begin alike, by two digits: a job is still told by its first six."""


def add(database: Database, jobs: Sequence[NewJob], now: float) -> list[Enqueued]:
    """Add each, or find the live one that has its key. Raises JobRefused, KeyTaken, QueueFull."""
    wanted = list(jobs)
    if all(map(_is_plain, wanted)):
        return _add_plain(database, wanted, now)
    adding = _Adding(database, now)
    return [adding.add(job) for job in wanted]


def fresh_ids() -> Iterator[str]:
    """Ids that no job has. Those of one transaction lie side by side in their index and share its pages:
    wholly at random, each would have a page of its own written for it.
    """
    while True:
        beginning = os.urandom(1).hex()
        for _ in range(_ALIKE):
            yield beginning + os.urandom(15).hex()


def _is_plain(job: NewJob) -> bool:
    """Whether it is a row like any other, about which nothing has to be known first."""
    asked = (job.key, job.id, job.expires_at, job.max_waiting)
    return asked == (None, None, None, None) and not job.shared


def _add_plain(database: Database, jobs: Sequence[NewJob], now: float) -> list[Enqueued]:
    ids = list(islice(fresh_ids(), len(jobs)))
    rows = [
        (job_id, job.queue, job.payload, job.priority, _due(job, now), job.max_attempts, now)
        for job_id, job in zip(ids, jobs, strict=True)
    ]
    database.run_each(sql.INSERT_PLAIN_JOB, rows)
    return [Enqueued(job_id, created=True) for job_id in ids]


def _due(job: NewJob, now: float) -> float:
    run_at = now + job.delay if job.run_at is None else job.run_at
    if math.isnan(run_at):
        raise JobRefused("run_at must be a number")
    return run_at


class _Adding:
    """Jobs of one transaction that depend on what is there."""

    def __init__(self, database: Database, now: float) -> None:
        self._database = database
        self._now = now
        self._ids = fresh_ids()
        self._waiting: dict[str, int] = {}
        """By queues that have a limit: counted once, for nobody else adds to them meanwhile."""

    def add(self, job: NewJob) -> Enqueued:
        run_at = _due(job, self._now)
        holder = self._holder_of_key(job)
        if holder is None:
            return self._insert(job, run_at)
        job_id, runs = holder
        match job.on_conflict:
            case Conflict.ERROR:
                raise KeyTaken(f"the live job {job_id} has this key")
            case Conflict.REPLACE | Conflict.NEXT if runs:
                return self._follow(job)
            case Conflict.REPLACE:
                self._replace(job_id, job, run_at)
        return self._known(job, job_id)

    def _insert(self, job: NewJob, run_at: float) -> Enqueued:
        self._insist_on_room(job)
        job_id = next(self._ids) if job.id is None else job.id
        values = (job_id, job.queue, job.payload, job.priority, run_at, job.key, job.max_attempts, self._now)
        if job.expires_at is None and not job.shared:
            added = self._database.run(sql.INSERT_JOB, values)
        else:
            insist_on_newest(self._database)
            values_and_terms = (*values, job.expires_at, int(job.shared))
            added = self._database.run(sql.INSERT_LATE_OR_SHARED_JOB, values_and_terms)
        if not added:
            raise JobRefused(f"the id {job_id} is taken")
        return Enqueued(job_id, created=True)

    def _follow(self, job: NewJob) -> Enqueued:
        """Have one wait behind the one that runs: whatever deletes that row makes it due."""
        insist_on_newest(self._database)
        row = self._database.one(sql.FOLLOWER, (job.queue, job.key, LATEST))
        if row is None:
            return self._insert(job._replace(shared=True), LATEST)
        job_id = str(row[0].decode(errors="replace"))
        if job.on_conflict is Conflict.REPLACE:
            self._replace(job_id, job, LATEST)
        return self._known(job, job_id)

    def _known(self, job: NewJob, job_id: str) -> Enqueued:
        # Whoever added that one may not have synced it. A commit that writes nothing would not do so either.
        count(self._database, job.queue, "known", self._now)
        return Enqueued(job_id, created=False)

    def _replace(self, job_id: str, job: NewJob, run_at: float) -> None:
        insist_on_newest(self._database)
        values = (job.payload, run_at, job.priority, job.max_attempts, job.expires_at, job_id)
        rule = self._database.refusal(sql.REPLACE_WAITING, values)
        if rule is not None:
            raise JobRefused(rule)

    def _holder_of_key(self, job: NewJob) -> tuple[str, bool] | None:
        """The live job that has the new one's key for itself: its id, and whether it runs."""
        if job.key is None or job.shared:
            return None
        before = self._database.schema < WITH_POLICIES
        statement = sql.LIVE_BY_KEY_AT_FIRST if before else sql.LIVE_BY_KEY
        row = self._database.one(statement, (job.queue, job.key))
        return None if row is None else (row[0].decode(errors="replace"), bool(row[1]))

    def _insist_on_room(self, job: NewJob) -> None:
        waiting = self._waiting.get(job.queue)
        if waiting is None:
            if job.max_waiting is None:
                return
            row = self._database.one(sql.WAITING_UP_TO, (job.queue, job.max_waiting))
            waiting = row[0] if row else 0
        if job.max_waiting is not None and waiting >= job.max_waiting:
            raise QueueFull(
                f"queue {job.queue} is full: {waiting} jobs wait, its max_waiting; try again later"
            )
        self._waiting[job.queue] = waiting + 1
