"""`sqlqd pause` and `sqlqd resume`: queues that give out no jobs for a while."""

import math
from typing import TYPE_CHECKING

import click

from sqlqd import clock, exits
from sqlqd.cli import complete, values
from sqlqd.cli.failure import Refused, tell
from sqlqd.cli.output import Output
from sqlqd.cli.selection import check_queue
from sqlqd.cli.session import Session
from sqlqd.units import spell

if TYPE_CHECKING:
    from sqlqd.store.base import Store

_EVERYTHING = ("",)
_LOOK_AGAIN = 0.1

_QUEUES = click.argument("queues", nargs=-1, metavar="[QUEUE...]", shell_complete=complete.queues)


@click.command(short_help="Start no more jobs of a queue, until it is resumed.")
@_QUEUES
@click.option("--all", "everything", is_flag=True, help="All queues, and those that are yet to come.")
@click.option("--for", "seconds", callback=values.duration, metavar="DUR", help="Only for so long.")
@click.option("--wait", is_flag=True, help="Come back when nothing of it runs any more.")
@click.option(
    "--timeout", callback=values.duration, metavar="DUR", help="With --wait: exit 124 after so long."
)
@click.pass_obj
def pause(
    session: Session,
    *,
    queues: tuple[str, ...],
    everything: bool,
    seconds: float | None,
    wait: bool,
    timeout: float | None,
) -> int:
    """Start no more jobs of these queues; what runs, runs on. It lasts over restarts.

    New jobs are taken in as ever, and wait. A queue that is paused already stays so, from now on for as
    long as --for says.

    Example: sqlqd pause send-email --wait && deploy && sqlqd resume send-email
    """
    if timeout is not None and not wait:
        raise Refused("--timeout goes with --wait")
    with session.store() as store:
        names = _named(session, store, queues, everything=everything)
        store.pause(names, seconds=seconds)
        with Output() as output:
            output.line(f"paused {_words(names)}{'' if seconds is None else f' for {spell(seconds)}'}")
        return _until_still(store, names, math.inf if timeout is None else timeout) if wait else exits.OK


@click.command(short_help="Let paused queues go on.")
@_QUEUES
@click.option("--all", "everything", is_flag=True, help="All queues, however they were paused.")
@click.pass_obj
def resume(session: Session, *, queues: tuple[str, ...], everything: bool) -> int:
    """Let paused queues go on. One that is not paused is left as it is.

    Example: sqlqd resume send-email
    """
    with session.store() as store:
        names = _named(session, store, queues, everything=everything)
        held = {one.queue for one in store.pauses()}
        store.resume(held | {*names} if everything else names)
        with Output() as output:
            paused = names if everything else tuple(name for name in names if name in held)
            if paused:
                output.line(f"resumed {_words(paused)}")
            if idle := tuple(name for name in names if name not in paused):
                output.line(f"not paused: {_words(idle)}")
    if not everything and "" in held:
        tell("all queues are still paused; end that with `sqlqd resume --all`")
        return exits.FAILED
    return exits.OK


def _named(session: Session, store: "Store", queues: tuple[str, ...], *, everything: bool) -> tuple[str, ...]:
    if everything == bool(queues):
        raise Refused("name the queues, or say --all")
    for name in queues:
        check_queue(session, store, name)
    return _EVERYTHING if everything else tuple(dict.fromkeys(queues))


def _words(names: tuple[str, ...]) -> str:
    return "all queues" if names == _EVERYTHING else ", ".join(names)


def _until_still(store: "Store", names: tuple[str, ...], timeout: float) -> int:
    awake = clock.SystemClock().awake
    end = awake() + timeout
    while running := sum(store.running(name or None) for name in names):
        if awake() >= end:
            tell(f"{running} {'job runs' if running == 1 else 'jobs run'} on after {spell(timeout)}")
            return exits.TIMED_OUT
        clock.pause(_LOOK_AGAIN)
    return exits.OK
