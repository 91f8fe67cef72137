"""What is written beside the jobs themselves: attempts that failed, records of ended jobs, counts."""

from typing import TYPE_CHECKING

from sqlqd.store import statements as sql
from sqlqd.store.database import Database

if TYPE_CHECKING:
    from sqlqd.model import Claim, Outcome

SLOT = 300
"""Seconds that one counter covers."""

KEPT_ATTEMPTS = 50
"""Of one job, the newest: however often it may try."""

CANCELLED_KEPT = 86_400.0
"""Seconds for which a cancelled job's record is kept at least: without one it would pass for done."""

_LONGEST_REASON = 1000
_LONGEST_TAIL = 1000
"""Characters of its output that each attempt is remembered by; of the last one all that was kept is there."""
_LONGEST_TEXT = 16 * 1024


def storable(text: str, limit: int = _LONGEST_TEXT) -> str:
    """Text as the database can keep it: no NUL, no half characters, no more than the limit."""
    return text[:limit].replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def count(database: Database, queue: str, outcome: str, now: float) -> None:
    """One more attempt of the queue that ended so."""
    database.run(sql.COUNT, (queue, int(now // SLOT), outcome))


def bury(
    database: Database,
    rowid: int,
    queue: str,
    reason: str,
    now: float,
    *,
    error: str | None = None,
    heir: str | None = None,
) -> None:
    """Move a job to the dead ones. `error` takes the place of its last one, `heir` is a queue to tell."""
    database.run(sql.BURY_ROW, (rowid, now, reason, error))
    database.run(sql.KEEP_SHARED, (rowid,))
    database.run(sql.DELETE_ROW, (rowid,))
    if heir is not None and heir != queue:
        _tell(database, heir, now)
    count(database, queue, "dead", now)


def _tell(database: Database, heir: str, now: float) -> None:
    from sqlqd.store import notice  # noqa: PLC0415 - few jobs die, and adding one does without

    buried = database.one(sql.BURIED_LAST)
    if buried is not None:
        database.run(sql.INSERT_HEIR, (heir, notice.document(buried), now))


def log_attempt(
    database: Database, claim: "Claim", outcome: "Outcome | None", reason: str, now: float
) -> None:
    """Enter an attempt that did not succeed into its job's history."""
    job = claim.job
    database.run(
        sql.INSERT_ATTEMPT,
        (
            job.id,
            job.attempts,
            outcome.started_at if outcome else claim.claimed_at,
            now,
            outcome.how.value if outcome else "failed",
            outcome.code if outcome else None,
            outcome.signal if outcome else None,
            outcome.cpu if outcome else None,
            _error(reason, outcome),
            claim.token,
        ),
    )
    database.run(sql.TRIM_ATTEMPTS, (job.id, KEPT_ATTEMPTS))


def _error(reason: str, outcome: "Outcome | None") -> str:
    tail = outcome.output[-_LONGEST_TAIL:] if outcome else ""
    return storable(f"{reason[:_LONGEST_REASON]}\n{tail}" if tail else reason[:_LONGEST_REASON])


def record_end(database: Database, claim: "Claim", ended: str, outcome: "Outcome | None", now: float) -> None:
    """Keep the record of a job that is gone for as long as its queue wants it."""
    job = claim.job
    if job.attempts > 1 or job.crashes or job.last_error is not None:
        database.run(sql.FORGET_ATTEMPTS, (job.id,))
    keep = max(claim.keep_done, CANCELLED_KEPT) if ended == "cancelled" else claim.keep_done
    if keep > 0:
        duration, code = (outcome.duration, outcome.code) if outcome else (now - claim.claimed_at, None)
        database.run(
            sql.INSERT_DONE,
            (job.id, job.queue, job.key, job.attempts, now, ended, duration, code, now + keep),
        )
