"""`sqlqd wait`: until jobs have ended, for scripts that go by the exit status."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from sqlqd import clock, exits
from sqlqd.cli import values
from sqlqd.cli.failure import tell
from sqlqd.cli.output import Output
from sqlqd.cli.selection import no_such, read_ids
from sqlqd.cli.session import Session
from sqlqd.model import Record, Selection, State
from sqlqd.printable import printable
from sqlqd.units import spell

if TYPE_CHECKING:
    from sqlqd.store.base import Store

_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.2
"""Seconds between two looks: a short job is not waited for longer than it takes, a long one costs nothing."""


@dataclass(frozen=True, slots=True)
class End:
    """How a job ended."""

    id: str
    outcome: str
    """done, dead, cancelled or unknown."""
    reason: str | None = None
    exit_code: int | None = None


@click.command(short_help="Until jobs have ended; their exit status says how.")
@click.argument("ids", nargs=-1, required=True, metavar="ID... | -")
@click.option("--timeout", callback=values.duration, metavar="DUR", help="Exit 124 after so long.")
@click.option("--json", "as_json", is_flag=True, help="A document for each job as it ends.")
@click.pass_obj
def wait(session: Session, *, ids: tuple[str, ...], timeout: float | None, as_json: bool) -> int:
    """Wait until these jobs have ended. Exits 0 if all are done, 1 if one died, was cancelled or is unknown.

    IDs may be cut to their first 6 characters or more; - reads them from standard input. A job of a queue
    that keeps no records is taken for done when it is gone.

    Example: sqlqd wait "$(sqlqd enqueue mail hello)" --timeout 5min && echo sent
    """
    given = read_ids(ids)
    with session.store() as store:
        return await_jobs(store, given, timeout=timeout, as_json=as_json)


def await_jobs(store: "Store", given: Sequence[str], *, timeout: float | None, as_json: bool) -> int:
    """Wait for jobs by their ids or prefixes: the exit status."""
    found, unknown = _resolved(store, given)
    ends = [End(each, "unknown") for each in unknown]
    if unknown:
        tell(no_such(unknown))
    with Output() as output:
        for end in ends:
            _told(output, end, as_json=as_json)
        awake = clock.SystemClock().awake
        limit = awake() + (math.inf if timeout is None else timeout)
        pause = _FIRST_PAUSE
        while found:
            fresh = [end for end in (_end(store, each) for each in found) if end is not None]
            for end in fresh:
                _told(output, end, as_json=as_json)
            ends += fresh
            over = {end.id for end in fresh}
            found = [each for each in found if each not in over]
            output.flush()
            if found and awake() >= limit:
                _give_up(found, timeout or 0.0)
                return exits.TIMED_OUT
            if found:
                pause = _FIRST_PAUSE if fresh else min(pause * 1.5, _LONGEST_PAUSE)
                clock.pause(min(pause, max(0.0, limit - awake())))
    return exits.OK if all(end.outcome == "done" for end in ends) else exits.FAILED


def _resolved(store: "Store", given: Iterable[str]) -> tuple[list[str], list[str]]:
    """Whole ids, and those that no job has. Raises StoreError where a prefix fits several."""
    found: dict[str, None] = {}
    unknown: list[str] = []
    for each in given:
        job = next(store.find(Selection(ids=(each,))), None)
        if job is None:
            unknown.append(each)
        else:
            found[job.id] = None
    return list(found), unknown


def _end(store: "Store", job_id: str) -> End | None:
    """How it ended; None: it has not."""
    job: Record | None = next(store.find(Selection(ids=(job_id,))), None)
    if job is None:
        # It was there: one that died or was cancelled leaves a record, so it is done.
        return End(job_id, "done")
    match job.state:
        case State.DONE:
            return End(job_id, job.outcome or "done", exit_code=job.exit_code)
        case State.DEAD:
            return End(job_id, "dead", reason=job.reason)
    return None


def _told(output: Output, end: End, *, as_json: bool) -> None:
    if as_json:
        document: dict[str, Any] = {"id": end.id, "outcome": end.outcome}
        output.json({**document, "reason": end.reason, "exit_code": end.exit_code})
    elif end.outcome in ("dead", "cancelled"):
        why = f": {printable((end.reason or '').split(chr(10), 1)[0])}" if end.reason else ""
        tell(f"{end.id} {'died' if end.outcome == 'dead' else 'was cancelled'}{why}")


def _give_up(ids: Sequence[str], seconds: float) -> None:
    number = "1 job has" if len(ids) == 1 else f"{len(ids)} jobs have"
    tell(f"{number} not ended after {spell(seconds)}; `sqlqd why {ids[0][:12]}` says what one waits for")
