"""`sqlqd list` and `sqlqd show`: jobs, many in lines or one whole."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from sqlqd.cli import complete, records, values
from sqlqd.cli.failure import Failed, Refused
from sqlqd.cli.holding import ORPHANED, Holding
from sqlqd.cli.output import Output
from sqlqd.cli.selection import check_queue, is_used, missing, no_such, read_ids, selecting, selection
from sqlqd.cli.session import Session, unknown
from sqlqd.clock import SystemClock
from sqlqd.model import Order, Selection, State

if TYPE_CHECKING:
    from sqlqd.store.base import Store

_ID = re.compile(r"[0-9a-f]{6,32}")
_JOBS = frozenset(State) - {State.DONE}
"""What a list shows unless it is asked for something else: jobs, not records of ended ones."""
_LIVE = _JOBS - {State.DEAD}


@click.command("list", short_help="List jobs: all, those of QUEUE, or those selected.")
@click.argument("which", nargs=-1, metavar="[QUEUE | ID... | -]", shell_complete=complete.queues)
@selecting(*State, changing=False)
@click.option(
    "--order",
    type=click.Choice([order.value for order in Order]),
    default=Order.OLDEST.value,
    help="What comes first; default: oldest.",
)
@click.option("--wide", is_flag=True, help="Whole ids, names and keys, however long the lines become.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document a line.")
@click.pass_obj
def list_(
    session: Session, /, *, which: tuple[str, ...], order: str, wide: bool, as_json: bool, **options: Any
) -> None:
    """List jobs: all of them, those of QUEUE, or those selected.

    IDs may be cut to their first 6 characters or more; - reads them from standard input.
    Ended jobs, cancelled ones too, are listed by --state done, for as long as their queue keeps records of
    them.

    A job whose worker is gone, and which waits for its lease to end, is shown as orphaned; for --state and in
    --json it is running.

    Live jobs come before dead ones, and these before ended ones; --order due lists live ones alone: those
    that run, then the one that is due first; --order priority the same, by priority before that.

    Example: sqlqd list fetch --state dead --newer-than 1h --order newest
    """
    with session.store() as store:
        wanted = _wanted(session, store, which, options, Order(order))
        if which and not wanted.ids and wanted.queue is None:
            return  # standard input had no ids
        seen = _print(session, store, wanted, Order(order), wide=wide, as_json=as_json)
    if wanted.limit is None and (unknown := missing(wanted.ids, seen)):
        raise Failed(no_such(unknown))


def _wanted(
    session: Session, store: "Store", which: tuple[str, ...], options: dict[str, Any], order: Order
) -> Selection:
    check_queue(session, store, options["queue"])
    queues = [name for name in which if _names_queue(session, store, name)]
    if len(queues) + (options["queue"] is not None) > 1:
        raise Refused("name one queue")
    wanted = selection(options, read_ids(name for name in which if name not in queues))
    if queues:
        wanted = replace(wanted, queue=queues[0])
    if wanted.ids and order is not Order.OLDEST:
        raise Refused("--order is for many jobs; those that are named come in the order of their names")
    by_due = order in {Order.DUE, Order.PRIORITY}
    if by_due and wanted.states - _LIVE:
        raise Refused(f"--order {order.value} is for jobs that wait or run; leave out the other states")
    if not wanted.ids and not wanted.states:
        wanted = replace(wanted, states=_LIVE if by_due else _JOBS)
    return wanted


def _names_queue(session: Session, store: "Store", argument: str) -> bool:
    """Whether an argument is a queue's name; else it is an id, or Refused."""
    if argument in session.config.queues:
        return True
    if argument == "-" or _ID.fullmatch(argument):
        return False
    if is_used(store, argument):
        return True
    if next(store.find(Selection(ids=(argument,))), None) is None:
        raise Refused(unknown(argument, session.config.queues))
    return False


def _print(
    session: Session, store: "Store", wanted: Selection, order: Order, *, wide: bool, as_json: bool
) -> list[str]:
    """Print the jobs of a selection as they are read; their ids, where it was one by ids."""
    now = SystemClock().wall()
    holding = Holding(session, store)
    seen: list[str] = []
    with Output() as output:
        if not as_json:
            output.line(records.header(wide=wide))
        for record in store.find(wanted, order=order):
            if wanted.ids:
                seen.append(record.id)
            if as_json:
                output.json(records.as_json(record))
            else:
                state = ORPHANED if holding.amiss(record) else None
                output.line(records.line(record, now, wide=wide, state=state))
    return seen


@click.command(short_help="Show one job, whole.")
@click.argument("job", metavar="ID", callback=values.text)
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def show(session: Session, *, job: str, as_json: bool) -> None:
    """Show one job, whole: every attempt with its output's last lines, and its last error.

    Example: sqlqd show 8527e0
    """
    with session.store() as store:
        record = store.record(job)
        amiss = None if record is None or as_json else Holding(session, store).amiss(record)
    if record is None:
        raise Failed(no_such([job]))
    with Output() as output:
        if as_json:
            output.json(records.as_json(record, whole=True))
            return
        for line in records.whole(record, SystemClock().wall(), amiss=amiss):
            output.line(line)
