"""Why a job does not run at this moment, or that it does: one sentence with numbers. Pure.

What holds a job up are reasons; there may be several, and the sentence names them all, the one that a
person should look at first leading.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlqd.circumstances import Circumstances, DaemonNow
from sqlqd.model import Record, State
from sqlqd.room import Space
from sqlqd.units import spell
from sqlqd.why.held import held_up
from sqlqd.why.reason import Numbers, Reason, at, many, said, short
from sqlqd.why.waiting import waiting


@dataclass(frozen=True, slots=True)
class Answer:
    """All reasons, the first being the one to name where only one can be."""

    reasons: tuple[Reason, ...]

    @property
    def sentence(self) -> str:
        """All of them in one sentence."""
        first, *others = (reason.clause for reason in self.reasons)
        whole = f"{first}; besides, {'; '.join(others)}" if others else first
        return f"{whole[:1].upper()}{whole[1:]}."


def why(seen: Circumstances, daemons: Sequence[DaemonNow], start: str, room: Space | None = None) -> Answer:
    """Why the job does not run, or that it does. `daemons` are those that live on the database; `start`: the
    commands that start one; `room` is what the database's file system has left.
    """
    job, held = seen.job, seen.held
    if job.state is State.DONE:
        return Answer((_ended(job, seen.now),))
    if job.state is State.DEAD:
        return Answer((_dead(job, seen.now),))
    if held is None:
        return Answer(tuple(waiting(seen, daemons, start, room)))
    if held.lost:
        return Answer((_lost(job), *waiting(seen, daemons, start, room)))
    return Answer(tuple(held_up(seen, held, daemons, start)))


def _ended(job: Record, now: float) -> Reason:
    numbers: Numbers = {"ended_at": job.ended_at, "attempts": job.attempts}
    if job.outcome == "cancelled":
        return Reason("cancelled", f"it was cancelled {at(job.ended_at, now)}", numbers)
    took = "" if job.duration is None else f", which took {spell(job.duration)}"
    clause = f"it is done since {at(job.ended_at, now)}, by attempt {job.attempts}{took}"
    return Reason("done", clause, {**numbers, "duration_seconds": job.duration})


def _dead(job: Record, now: float) -> Reason:
    tries = many(job.attempts, "attempt")
    clause = (
        f"it is dead since {at(job.died_at, now)}, after {tries}: {said(job.reason)} "
        f"(`sqlqd retry {short(job.id)}` gives it fresh attempts)"
    )
    return Reason(
        "dead", clause, {"died_at": job.died_at, "attempts": job.attempts, "error": said(job.reason)}
    )


def _lost(job: Record) -> Reason:
    why_lost = f" ({said(job.history[-1].error)})" if job.history else ""
    clause = f"it lost its lease in attempt {job.attempts}{why_lost} and waits to be taken over"
    return Reason("lost", clause, {"attempt": job.attempts, "crashes": job.crashes})
