"""What the log tells of a job: one record for each step, with the fields by which its story is found."""

from sqlqd import log
from sqlqd.model import (
    Ask,
    Buried,
    Bury,
    Cancel,
    Claim,
    Done,
    Ended,
    Lost,
    Outcome,
    Release,
    Retry,
    Settled,
    Verdict,
)
from sqlqd.policy import reason, signal_name

_FAILURES = frozenset({Ended.EXITED, Ended.SIGNALLED, Ended.TIMED_OUT, Ended.KILLED, Ended.BURIED})


def started(claim: Claim, worker: int, pid: int | None) -> None:
    """The command of a claim runs."""
    log.event("job.started", **_about(claim, worker), pid=pid)


def lost(claim: Claim, worker: int, why: str) -> None:
    """The claim is no longer ours, or is given up."""
    log.event("job.lease_lost", **_about(claim, worker), reason=why)


def asked(claim: Claim, worker: int, ask: Ask) -> None:
    """A person wants the run ended, which it is from now on."""
    if ask is not Ask.CANCEL:
        log.event("job.killed", **_about(claim, worker))


def left(job: Lost, worker: int | None = None) -> None:
    """The lease of a job was ended for its holder, which is dead."""
    about = {"job_id": job.id, "queue": job.queue, "attempt": job.attempt, "worker": worker}
    match job.gone:
        case Ask.CANCEL:
            log.event("job.cancelled", **about)
        case Ask.BURY:
            log.event("job.dead", **about, reason=job.reason)
        case _:
            log.event("job.lost", **about, reason=job.reason)


def buried(jobs: tuple[Buried, ...], worker: int) -> None:
    """Jobs that can never run were found and moved to the dead ones."""
    for job in jobs:
        log.event(
            "job.dead",
            job_id=job.id,
            queue=job.queue,
            attempt=job.attempts,
            worker=worker,
            reason=job.reason,
        )


def settled(claim: Claim, outcome: Outcome, verdict: Verdict, worker: int, now: float) -> None:
    """The end of a claim is recorded. `now` in Unix seconds."""
    about = _about(claim, worker)
    if outcome.how in _FAILURES and not isinstance(verdict, Done):
        log.event("job.failed", **about, **_end(outcome), reason=reason(outcome))
    match verdict:
        case Done():
            log.event("job.finished", **about, **_end(outcome))
        case Retry(at, _):
            log.event("job.retry", **about, delay_seconds=round(max(0.0, at - now), 3))
        case Bury(why):
            log.event("job.dead", **about, **_end(outcome), reason=why)
        case Release(why, block=block):
            log.event("job.released", **about, reason=why)
            if block:
                log.event(
                    "queue.blocked", queue=claim.job.queue, worker=worker, block_seconds=block, reason=why
                )
        case Cancel():
            log.event("job.cancelled", **about, **_end(outcome))


def queue(claim: Claim, settled: Settled, worker: int) -> None:
    """What the end of a run means for its queue, where failures in a row hold it."""
    if settled.held_for and claim.breaker is not None:
        why = f"its last {claim.breaker.failures} attempts or more failed; then one job is tried"
        log.event(
            "queue.blocked", queue=claim.job.queue, worker=worker, block_seconds=settled.held_for, reason=why
        )
    if settled.freed:
        log.event("queue.unblocked", queue=claim.job.queue, worker=worker)


def _about(claim: Claim, worker: int) -> dict[str, object]:
    return {
        "job_id": claim.job.id,
        "queue": claim.job.queue,
        "attempt": claim.job.attempts,
        "worker": worker,
    }


def _end(outcome: Outcome) -> dict[str, object]:
    return {
        "exit_code": outcome.code,
        "signal": None if outcome.signal is None else signal_name(outcome.signal),
        "duration_seconds": round(outcome.duration, 3),
        "cpu_seconds": None if outcome.cpu is None else round(outcome.cpu, 3),
        "memory_peak_bytes": outcome.memory_peak,
    }
