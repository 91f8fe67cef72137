"""What people ask of running jobs. A request is for one claim: it means nothing once that is over."""

from sqlqd.model import Ask, Bury, Cancel, Claim, Done, Release, Retry, Verdict
from sqlqd.store import statements as sql
from sqlqd.store.database import Database
from sqlqd.store.ledger import CANCELLED_KEPT, bury, count

KILLED = "killed"
"""Why a job is dead, or an attempt of it failed, that a person ended."""

_PUT = """
INSERT INTO sqlqd_requests (job_id, token, what, asked_at)
SELECT id, locked_by, ?2, ?3 FROM jobs WHERE rowid = ?1
ON CONFLICT (job_id) DO UPDATE SET token = excluded.token, what = excluded.what, asked_at = excluded.asked_at
"""

_RECORD_CANCELLED = """
INSERT OR REPLACE INTO done_jobs (id, queue, key, attempts, ended_at, outcome, keep_until)
SELECT id, queue, key, attempts, ?2, 'cancelled', ?3 FROM jobs WHERE rowid = ?1
"""

_FORGET_ATTEMPTS = "DELETE FROM sqlqd_attempts WHERE job_id = (SELECT id FROM jobs WHERE rowid = ?)"


def of(database: Database, claim: Claim) -> Ask | None:
    """What was asked of a claim."""
    row = database.one(sql.ASKED, (claim.job.id, claim.token))
    return None if row is None else Ask(row[0])


def of_row(database: Database, rowid: int) -> Ask | None:
    """What was asked of the claim that holds a row."""
    row = database.one(sql.ASKED_OF_ROW, (rowid,))
    return None if row is None else Ask(row[0])


def put(database: Database, rowid: int, ask: Ask, now: float) -> None:
    """Ask it of the claim that holds a row; what was asked before and goes further stays."""
    before = of_row(database, rowid)
    if before is None or before.further < ask.further:
        database.run(_PUT, (rowid, ask.value, now))


def overruled(verdict: Verdict, asked: Ask | None) -> Verdict:
    """What becomes of a job in the end: it does not run again where somebody asked for that meanwhile."""
    match asked, verdict:
        case (None | Ask.KILL, _) | (_, Done() | Cancel()):
            return verdict
        case Ask.CANCEL, _:
            return Cancel()
        case Ask.BURY, Retry() | Release():
            return Bury(KILLED)
    return verdict


def end(database: Database, rowid: int, queue: str, ask: Ask | None, now: float) -> bool:
    """Do to a row that nobody holds any more what was asked. True: it is gone."""
    match ask:
        case Ask.CANCEL:
            cancel(database, rowid, queue, now)
        case Ask.BURY:
            database.insist_on_sync()
            bury(database, rowid, queue, KILLED, now)
        case _:
            return False
    return True


def cancel(database: Database, rowid: int, queue: str, now: float) -> None:
    """Take a job away, with a record of it."""
    database.insist_on_sync()
    database.run(_RECORD_CANCELLED, (rowid, now, now + CANCELLED_KEPT))
    database.run(_FORGET_ATTEMPTS, (rowid,))
    database.run(sql.DELETE_ROW, (rowid,))
    count(database, queue, "cancelled", now)
