"""Jobs on their way into the table, inside a transaction."""

import math
import os

from sqlqd.model import Enqueued, NewJob
from sqlqd.store import statements as sql
from sqlqd.store.base import JobRefused, QueueFull
from sqlqd.store.database import Database
from sqlqd.store.ledger import count
from sqlqd.store.schema import WITH_POLICIES, insist_on_newest


def add(database: Database, job: NewJob, now: float) -> Enqueued:
    """Add one, or find the live one that has its key. Raises JobRefused, QueueFull."""
    run_at = now + job.delay if job.run_at is None else job.run_at
    if math.isnan(run_at):
        raise JobRefused("run_at must be a number")
    job_id = os.urandom(16).hex() if job.id is None else job.id
    values = (job_id, job.queue, job.payload, job.priority, run_at, job.key, job.max_attempts, now)
    found = _live_by_key(database, job)
    if found is None:
        _insist_on_room(database, job)
        if job.expires_at is None and not job.shared:
            added = database.run(sql.INSERT_JOB, values)
        else:
            insist_on_newest(database)
            added = database.run(sql.INSERT_LATE_OR_SHARED_JOB, (*values, job.expires_at, int(job.shared)))
        if not added:
            raise JobRefused(f"the id {job_id} is taken")
        return Enqueued(job_id, created=True)
    # Whoever added that one may not have synced it. A commit that writes nothing would not do so either.
    count(database, job.queue, "known", now)
    return Enqueued(found, created=False)


def _live_by_key(database: Database, job: NewJob) -> str | None:
    """The id of the live job that has the new one's key for itself."""
    if job.key is None or job.shared:
        return None
    statement = sql.LIVE_BY_KEY_AT_FIRST if database.schema < WITH_POLICIES else sql.LIVE_BY_KEY
    row = database.one(statement, (job.queue, job.key))
    return None if row is None else str(row[0].decode(errors="replace"))


def _insist_on_room(database: Database, job: NewJob) -> None:
    if job.max_waiting is None:
        return
    row = database.one(sql.WAITING_UP_TO, (job.queue, job.max_waiting))
    if row is not None and row[0] >= job.max_waiting:
        raise QueueFull(f"queue {job.queue} is full: {row[0]} jobs wait, its max_waiting; try again later")
