"""The circuit breaker: a queue whose jobs fail one after the other is held, until one succeeds."""

from sqlqd.model import Claim, Done, Ended, Outcome, Release, Verdict
from sqlqd.store import statements as sql
from sqlqd.store.database import Database

_FAILURES = frozenset({Ended.EXITED, Ended.SIGNALLED, Ended.TIMED_OUT})
"""Ends that say something of what the queue's commands work with. One by a person's hand does not."""


def count(
    database: Database, claim: Claim, verdict: Verdict, outcome: Outcome | None, now: float
) -> tuple[float, bool]:
    """Remember how a run of the claim's queue ended: how long it is held now, and whether it was before."""
    breaker = claim.breaker
    if breaker is None:
        return 0.0, False
    queue = claim.job.queue
    if isinstance(verdict, Done):
        before = database.one(sql.FAILURES_OF, (queue,))
        if before is not None:
            database.run(sql.COUNT_SUCCESS, (queue,))
        return 0.0, before is not None and before[1] is not None
    if outcome is None or outcome.how not in _FAILURES or isinstance(verdict, Release):
        return 0.0, False
    (failures,) = database.all(sql.COUNT_FAILURE, (queue,))[0]
    if failures < breaker.failures:
        return 0.0, False
    database.run(sql.BREAK, (queue, now, now + breaker.pause))
    return breaker.pause, False
