"""`sqlqd wait`: until jobs have ended, for scripts that go by the exit status."""

import math
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from sqlqd import clock, exits, presence
from sqlqd.cli import values
from sqlqd.cli.failure import tell
from sqlqd.cli.output import Output
from sqlqd.cli.selection import no_such, read_ids
from sqlqd.cli.session import Session
from sqlqd.config.places import start
from sqlqd.model import Record, Selection, State
from sqlqd.printable import printable
from sqlqd.store.failures import StoreBusy
from sqlqd.units import spell

if TYPE_CHECKING:
    from sqlqd.config import Config
    from sqlqd.store.base import Store

_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.2
"""Seconds between two looks: a short job is not waited for longer than it takes, a long one costs nothing."""

_SILENCE = 0.5
"""Seconds after which somebody may wonder why nothing happens."""

_PAUSE_PER_LOOK = 10.0
"""A pause is so much longer than the look before it: waiting for very many takes little of a processor."""


@dataclass(frozen=True, slots=True)
class End:
    """How a job ended."""

    id: str
    outcome: str
    """done, dead, cancelled or unknown."""
    reason: str | None = None
    exit_code: int | None = None


@click.command(short_help="Wait until jobs have ended; the exit status says how.")
@click.argument("ids", nargs=-1, required=True, metavar="ID... | -")
@click.option("--timeout", callback=values.duration, metavar="DUR", help="Exit 124 after so long.")
@click.option("--json", "as_json", is_flag=True, help="A document for each job as it ends.")
@click.pass_obj
def wait(session: Session, *, ids: tuple[str, ...], timeout: float | None, as_json: bool) -> int:
    """Wait until these jobs have ended. Exits 0 if all are done, 1 if one died, was cancelled or is unknown.

    IDs may be cut to their first 6 characters or more; - reads them from standard input. One that was there
    and is gone without a record is done: its queue keeps none. Whoever comes only then finds it unknown.

    Example: sqlqd wait 8527e0 77ab01 --timeout 5min && echo both are done
    """
    given = read_ids(ids)
    with session.store() as store:
        found, unknown = _resolved(store, given)
        if unknown:
            tell(no_such(unknown))
        return await_jobs(
            store, found, unknown=unknown, timeout=timeout, as_json=as_json, config=session.config
        )


def await_jobs(
    store: "Store",
    jobs: Sequence[str],
    *,
    unknown: Sequence[str] = (),
    timeout: float | None,
    as_json: bool,
    config: "Config | None" = None,
) -> int:
    """Wait for jobs that were there once: the exit status. Raises StoreError.

    `config`: whose daemon is missed, where none runs.
    """
    awake = clock.SystemClock().awake
    limit = awake() + (math.inf if timeout is None else timeout)
    patient_until = awake() + _SILENCE
    ends = [End(each, "unknown") for each in unknown]
    waiting = dict.fromkeys(jobs)
    pause = _FIRST_PAUSE
    with Output() as output:
        for end in ends:
            _told(output, end, as_json=as_json)
        while True:
            began = awake()
            fresh = _look(store, list(waiting))
            for end in fresh:
                _told(output, end, as_json=as_json)
                del waiting[end.id]
            ends += fresh
            if not waiting:
                break
            if awake() >= limit:
                _give_up(list(waiting), timeout or 0.0)
                return exits.TIMED_OUT
            output.flush()
            if config is not None and awake() >= patient_until:
                _tell_if_alone(config)
                config = None
            pause = _FIRST_PAUSE if fresh else min(pause * 1.5, _LONGEST_PAUSE)
            took = awake() - began
            clock.pause(min(max(pause, _PAUSE_PER_LOOK * took), max(0.0, limit - awake())))
    return exits.OK if all(end.outcome == "done" for end in ends) else exits.FAILED


def _tell_if_alone(config: "Config") -> None:
    """Say so where no daemon is there to run what is waited for. It is waited on: one may be started."""
    # Where it cannot be known, nothing is said.
    with suppress(OSError):
        if not presence.living(config.daemon.database):
            tell(f"no daemon is running: {start(config.path, os.environ)} starts one; waiting")


def _look(store: "Store", jobs: Sequence[str]) -> list[End]:
    """Those that have ended. One where others keep the database locked tells nothing."""
    try:
        # Of a file that was put aside nothing more would come.
        store.check_file()
        return [end for each in store.not_live(jobs) if (end := _end(store, each)) is not None]
    except StoreBusy:
        return []


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
    """How one that was not live has ended; None: it lives again."""
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
