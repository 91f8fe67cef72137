"""Schedules' memory: what was added when, and what is due next, in the transaction that adds it."""

from collections.abc import Iterable

from sqlqd.model import Fired
from sqlqd.store import statements as sql
from sqlqd.store.adding import add
from sqlqd.store.database import Database
from sqlqd.timetable import Past, Schedule, decide

_FORGET_OTHERS = "DELETE FROM sqlqd_schedules WHERE name = ? AND spec <> ?"


def past(database: Database, schedule: Schedule) -> Past | None:
    """What is known of a schedule."""
    row = database.one(sql.SCHEDULE, (schedule.name, schedule.spec))
    return None if row is None or row[0] is None else Past(row[0], row[1])


def adopt(database: Database, schedules: Iterable[Schedule]) -> None:
    """Forget what an edited schedule was before."""
    for schedule in schedules:
        database.run(_FORGET_OTHERS, (schedule.name, schedule.spec))


def idle(database: Database, schedule: Schedule, now: float) -> Fired | None:
    """What `fire` would answer where it would change nothing; None: it would change something."""
    known = past(database, schedule)
    decision = decide(schedule, known, now)
    if known is None or decision.due or decision.skipped or decision.next_at != known.next_at:
        return None
    return Fired(schedule.name, (), "", (), decision.next_at)


def fire(database: Database, schedule: Schedule, now: float) -> Fired:
    """Add what is due of a schedule, and remember it."""
    decision = decide(schedule, past(database, schedule), now)
    added = add(database, [schedule.job(due) for due in decision.due], now)
    fresh = [job for job in added if job.created]
    kept_out = tuple(job.id for job in added if not job.created)
    if decision.due:
        last_job = fresh[-1].id if fresh else None
        values = (schedule.name, schedule.spec, decision.next_at, decision.due[-1], last_job)
        database.run(sql.SCHEDULE_FIRED, values)
    else:
        database.run(sql.SCHEDULE_DUE, (schedule.name, schedule.spec, decision.next_at))
    return Fired(schedule.name, tuple(job.id for job in fresh), decision.skipped, kept_out, decision.next_at)
