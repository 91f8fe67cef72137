"""`sqlqd retry`, `cancel` and `purge`: what a person does to jobs, many at once."""

import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from sqlqd import exits
from sqlqd.cli import records
from sqlqd.cli.failure import Refused, tell
from sqlqd.cli.output import Output
from sqlqd.cli.selection import check_queue, is_empty, missing, no_such, read_ids, selecting, selection
from sqlqd.cli.session import Session
from sqlqd.model import Selection, State, Touched

if TYPE_CHECKING:
    from sqlqd.store.base import Store

    Act = Callable[..., Touched]

_ASK_ABOVE = 20
"""Jobs that a slip of the pen may touch without a question."""
_NAMED = 20
"""Jobs left alone that are named one by one."""

_IDS = click.argument("ids", nargs=-1, metavar="[ID... | -]")


@click.command(short_help="Give dead jobs fresh attempts; end waits in backoff.")
@_IDS
@selecting(State.DEAD, State.SCHEDULED, changing=True)
@click.pass_obj
def retry(session: Session, /, **options: Any) -> int:
    """Give dead jobs fresh attempts; make jobs that wait in backoff due now.

    Needs at least one selector. IDs may be cut to their first 6 characters or more; - reads them from
    standard input.

    Example: sqlqd retry --queue send-email --state dead
    """
    with session.store() as store:
        return _Change("retry", "retried", store.retry).run(session, store, options)


@click.command(short_help="Take waiting jobs away, and end running ones.")
@_IDS
@selecting(State.READY, State.SCHEDULED, State.RUNNING, changing=True)
@click.pass_obj
def cancel(session: Session, /, **options: Any) -> int:
    """Take waiting jobs away, and print each as one line of JSON. They are recorded as cancelled.

    The command of a running one is ended with all that it started, within a second and its queue's
    kill_grace, and it does not run again; `sqlqd wait` tells when that is over.

    Needs at least one selector. IDs may be cut to their first 6 characters or more; - reads them from
    standard input.

    Example: sqlqd cancel --queue thumbnails --older-than 1d
    """
    with session.store() as store:
        return _Change("cancel", "cancelled", store.cancel, print_jobs=True).run(session, store, options)


@click.command(short_help="End running attempts; what follows, the queue decides.")
@_IDS
@selecting(State.READY, State.SCHEDULED, State.RUNNING, changing=True)
@click.option("--bury", is_flag=True, help="To the dead jobs, without another attempt; waiting jobs too.")
@click.pass_obj
def kill(session: Session, /, *, bury: bool, **options: Any) -> int:
    """End running attempts, with all that they started, as failures with the reason "killed".

    Whether they are tried again is for their queue's settings to decide; with --bury they are not. It
    takes a second and the queue's kill_grace; `sqlqd wait` tells when that is over.

    Needs at least one selector. IDs may be cut to their first 6 characters or more; - reads them from
    standard input.

    Example: sqlqd kill 8527e0
    """
    with session.store() as store:
        return _Change("kill", "killed", partial(store.kill, bury=bury)).run(session, store, options)


@click.command(short_help="Delete dead jobs, or records of done ones.")
@_IDS
@selecting(State.DEAD, State.DONE, changing=True)
@click.pass_obj
def purge(session: Session, /, **options: Any) -> int:
    """Delete dead jobs; with --state done, the records of ended ones.

    Needs at least one selector. IDs may be cut to their first 6 characters or more; - reads them from
    standard input.

    Example: sqlqd purge --queue thumbnails --older-than 30d
    """
    with session.store() as store:
        return _Change("purge", "purged", store.purge).run(session, store, options)


class _Change:
    """One verb on a selection: asks, does it, tells what was done and what was not."""

    def __init__(self, verb: str, done: str, act: "Act", *, print_jobs: bool = False) -> None:
        self._verb = verb
        self._done = done
        self._act = act
        self._print_jobs = print_jobs

    def run(self, session: Session, store: "Store", options: dict[str, Any]) -> int:
        given: tuple[str, ...] = options["ids"]
        check_queue(session, store, options["queue"])
        wanted = selection(options, read_ids(given))
        if given and not wanted.ids:
            self._tell(Touched(()), dry_run=options["dry_run"])  # standard input had no ids
            return exits.OK
        if is_empty(wanted):
            raise Refused(f"say which jobs to {self._verb}: by ids, --queue, --state, --key …")
        if not (options["yes"] or options["dry_run"] or self._confirmed(wanted)):
            tell("nothing was changed")
            return exits.FAILED
        touched = self._act(wanted, dry_run=options["dry_run"])
        self._tell(touched, dry_run=options["dry_run"])
        return self._left_alone(wanted, touched)

    def _confirmed(self, wanted: Selection) -> bool:
        if not (sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty()):
            return True
        count = len(self._act(wanted, dry_run=True).jobs)
        return count <= _ASK_ABOVE or click.confirm(f"{self._verb} {count} jobs?", err=True)

    def _tell(self, touched: Touched, *, dry_run: bool) -> None:
        count = len(touched.jobs)
        jobs = f"{count} job" if count == 1 else f"{count} jobs"
        text = f"would {self._verb} {jobs}" if dry_run else f"{self._done} {jobs}"
        running = sum(job.state is State.RUNNING for job in touched.jobs)
        if running and not dry_run:
            text += f" ({running} running, being ended)"
        with Output() as output:
            if self._print_jobs:
                for job in touched.jobs:
                    output.json(records.as_json(job))
            else:
                output.line(text)
            if touched.freed:
                output.line("the queue is no longer held")
        if self._print_jobs:
            # Standard output has a document a line and nothing else.
            tell(text)

    def _left_alone(self, wanted: Selection, touched: Touched) -> int:
        for job, reason in touched.skipped[:_NAMED]:
            tell(f"{job} was left alone: {reason}")
        if len(touched.skipped) > _NAMED:
            tell(f"{len(touched.skipped) - _NAMED} more were left alone")
        met = [job.id for job in touched.jobs] + [job for job, _ in touched.skipped]
        unknown = missing(wanted.ids, met) if wanted.limit is None else []
        if unknown:
            tell(no_such(unknown))
        return exits.FAILED if touched.skipped or unknown else exits.OK
