"""The ends of a claim. Every statement that changes a job here matches its token: that is the fence."""

from dataclasses import replace

from sqlqd.model import Bury, Cancel, Claim, Done, Outcome, Release, Retry, Verdict
from sqlqd.store import requests
from sqlqd.store import statements as sql
from sqlqd.store.database import Database
from sqlqd.store.ledger import bury, count, log_attempt, record_end, storable
from sqlqd.store.turns import LONGEST_BLOCK

_LATEST = 1e11


def settle(
    database: Database, claim: Claim, verdict: Verdict, outcome: Outcome | None, now: float
) -> Verdict | None:
    """End the claim as judged, unless a person asked for something else meanwhile: what became of the job.

    None: it was no longer ours and nothing was changed.
    """
    if isinstance(verdict, Retry | Release | Bury):
        verdict = requests.overruled(verdict, requests.of(database, claim))
        if isinstance(verdict, Bury | Cancel):
            database.insist_on_sync()
    if isinstance(verdict, Release) and claim.blocks and not database.one(sql.IS_BLOCKED, (claim.job.queue,)):
        # Freed since this claim tried it: what was wrong then says nothing of how it is now.
        verdict = replace(verdict, block=0.0)
    return verdict if _settled(database, claim, verdict, outcome, now) else None


def _settled(database: Database, claim: Claim, verdict: Verdict, outcome: Outcome | None, now: float) -> bool:
    match verdict:
        case Done():
            return _end(database, claim, "done", outcome, now)
        case Cancel():
            return _end(database, claim, "cancelled", outcome, now)
        case Retry():
            return _retry(database, claim, verdict, outcome, now)
        case Bury(reason):
            return _bury(database, claim, reason, outcome, now)
        case Release():
            return _release(database, claim, verdict, outcome, now)


def _end(database: Database, claim: Claim, ended: str, outcome: Outcome | None, now: float) -> bool:
    if not database.run(sql.DELETE_HELD, (claim.job.id, claim.token)):
        return False
    record_end(database, claim, ended, outcome, now)
    count(database, claim.job.queue, ended, now)
    return True


def _retry(database: Database, claim: Claim, retry: Retry, outcome: Outcome | None, now: float) -> bool:
    error = _error(retry.reason, outcome)
    if not database.run(sql.GIVE_BACK, (_within_time(retry.at), error, 0, claim.job.id, claim.token)):
        return False
    log_attempt(database, claim, outcome, retry.reason, now)
    count(database, claim.job.queue, "failed", now)
    return True


def _bury(database: Database, claim: Claim, reason: str, outcome: Outcome | None, now: float) -> bool:
    row = database.one(sql.HELD_ROW, (claim.job.id, claim.token))
    if row is None:
        return False
    error = _error(reason, outcome)
    bury(database, row[0], claim.job.queue, storable(reason), now, error=error, heir=claim.on_dead)
    log_attempt(database, claim, outcome, reason, now)
    return True


def _release(database: Database, claim: Claim, release: Release, outcome: Outcome | None, now: float) -> bool:
    at = None if release.at is None else _within_time(release.at)
    error = _error(release.reason, outcome) if release.told else None
    if not database.run(sql.GIVE_BACK, (at, error, 1, claim.job.id, claim.token)):
        return False
    if release.block > 0:
        until = now + min(release.block, LONGEST_BLOCK)
        # From the claim's own count: workers that fail together are one failure.
        database.run(sql.BLOCK, (claim.job.queue, until, claim.blocks + 1, storable(release.reason)))
    return True


def _within_time(at: float) -> float:
    """A moment that the schema accepts, whatever a policy computed."""
    return min(max(at, 0.0), _LATEST)


def _error(reason: str, outcome: Outcome | None) -> str:
    """Why the attempt failed, with the tail of its output."""
    output = outcome.output if outcome else ""
    return storable(f"{reason}\n{output}" if output else reason)
