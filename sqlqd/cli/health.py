"""`sqlqd health`: one line and an exit status for probes."""

from typing import Any

import click

from sqlqd import exits
from sqlqd.cli import status, values
from sqlqd.cli.failure import explained
from sqlqd.cli.output import Output
from sqlqd.cli.session import Session
from sqlqd.config import ConfigError
from sqlqd.health import ailments
from sqlqd.model import Overview
from sqlqd.printable import printable
from sqlqd.store.base import StoreError


@click.command(short_help="Say by the exit status whether the queue does its work.")
@click.option("--max-wait", callback=values.duration, metavar="DUR", help="No job may be ready for longer.")
@click.option("--max-dead", type=click.IntRange(min=0), metavar="N", help="No more dead jobs than that.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def health(session: Session, *, max_wait: float | None, max_dead: int | None, as_json: bool) -> int:
    """Say in one line whether the queue does its work; exit with 0 if so, else with 1.

    Not well is: no daemon runs, a queue is held since its command cannot be started or by its breaker, jobs
    wait in a queue that is not configured, a changed configuration was not loaded, the database's disk is
    full, or the database cannot be read; and what is beyond the limits given. Jobs of paused queues may
    wait as long as they like.

    Example: sqlqd health --max-wait 10min --max-dead 100
    """
    seen: Overview | None = None
    try:
        sight = status.look(session)
    except (StoreError, ConfigError, OSError) as error:
        found = explained(error)[1]
    else:
        seen = sight.overview
        found = ailments(seen, sight.troubles, max_wait=max_wait, max_dead=max_dead)
    with Output() as output:
        if as_json:
            output.json(_document(found, seen))
        else:
            output.line(printable(_line(found, seen)))
    return exits.FAILED if found else exits.OK


def _line(found: tuple[str, ...], seen: Overview | None) -> str:
    if found or seen is None:
        others = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return f"not well: {found[0]}{others}"
    counts = _counts(seen)
    return "ok: " + ", ".join(f"{number} {state}" for state, number in counts.items())


def _counts(seen: Overview) -> dict[str, int]:
    states = ("ready", "scheduled", "running", "dead")
    return {state: sum(getattr(queue, state) for queue in seen.queues) for state in states}


def _document(found: tuple[str, ...], seen: Overview | None) -> dict[str, Any]:
    oldest = None
    if seen is not None:
        times = [queue.oldest_ready_at for queue in seen.queues if queue.oldest_ready_at is not None]
        oldest = max(0.0, seen.now - min(times)) if times else None
    return {
        "well": not found,
        "troubles": list(found),
        **(dict.fromkeys(("ready", "scheduled", "running", "dead")) if seen is None else _counts(seen)),
        "oldest_ready_seconds": oldest,
    }
