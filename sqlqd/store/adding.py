"""Jobs on their way into the table, inside a transaction."""

import math
import os

from sqlqd.newjob import LATEST, Conflict, Enqueued, NewJob
from sqlqd.store import statements as sql
from sqlqd.store.database import Database
from sqlqd.store.failures import JobRefused, KeyTaken, QueueFull
from sqlqd.store.ledger import count
from sqlqd.store.schema import WITH_POLICIES, insist_on_newest


def add(database: Database, job: NewJob, now: float) -> Enqueued:
    """Add one, or find the live one that has its key. Raises JobRefused, KeyTaken, QueueFull."""
    run_at = now + job.delay if job.run_at is None else job.run_at
    if math.isnan(run_at):
        raise JobRefused("run_at must be a number")
    holder = _holder_of_key(database, job)
    if holder is None:
        return _insert(database, job, run_at, now)
    job_id, runs = holder
    match job.on_conflict:
        case Conflict.ERROR:
            raise KeyTaken(f"the live job {job_id} has this key")
        case Conflict.REPLACE | Conflict.NEXT if runs:
            return _follow(database, job, now)
        case Conflict.REPLACE:
            _replace(database, job_id, job, run_at)
    # Whoever added that one may not have synced it. A commit that writes nothing would not do so either.
    count(database, job.queue, "known", now)
    return Enqueued(job_id, created=False)


def _insert(database: Database, job: NewJob, run_at: float, now: float) -> Enqueued:
    _insist_on_room(database, job)
    job_id = os.urandom(16).hex() if job.id is None else job.id
    values = (job_id, job.queue, job.payload, job.priority, run_at, job.key, job.max_attempts, now)
    if job.expires_at is None and not job.shared:
        added = database.run(sql.INSERT_JOB, values)
    else:
        insist_on_newest(database)
        added = database.run(sql.INSERT_LATE_OR_SHARED_JOB, (*values, job.expires_at, int(job.shared)))
    if not added:
        raise JobRefused(f"the id {job_id} is taken")
    return Enqueued(job_id, created=True)


def _follow(database: Database, job: NewJob, now: float) -> Enqueued:
    """Have one wait behind the one that runs: whatever deletes that row makes it due."""
    insist_on_newest(database)
    row = database.one(sql.FOLLOWER, (job.queue, job.key, LATEST))
    if row is None:
        return _insert(database, job._replace(shared=True), LATEST, now)
    job_id = str(row[0].decode(errors="replace"))
    if job.on_conflict is Conflict.REPLACE:
        _replace(database, job_id, job, LATEST)
    count(database, job.queue, "known", now)
    return Enqueued(job_id, created=False)


def _replace(database: Database, job_id: str, job: NewJob, run_at: float) -> None:
    insist_on_newest(database)
    values = (job.payload, run_at, job.priority, job.max_attempts, job.expires_at, job_id)
    rule = database.refusal(sql.REPLACE_WAITING, values)
    if rule is not None:
        raise JobRefused(rule)


def _holder_of_key(database: Database, job: NewJob) -> tuple[str, bool] | None:
    """The live job that has the new one's key for itself: its id, and whether it runs."""
    if job.key is None or job.shared:
        return None
    statement = sql.LIVE_BY_KEY_AT_FIRST if database.schema < WITH_POLICIES else sql.LIVE_BY_KEY
    row = database.one(statement, (job.queue, job.key))
    return None if row is None else (row[0].decode(errors="replace"), bool(row[1]))


def _insist_on_room(database: Database, job: NewJob) -> None:
    if job.max_waiting is None:
        return
    row = database.one(sql.WAITING_UP_TO, (job.queue, job.max_waiting))
    if row is not None and row[0] >= job.max_waiting:
        raise QueueFull(f"queue {job.queue} is full: {row[0]} jobs wait, its max_waiting; try again later")
