"""`sqlqd why`: in one sentence, why a job does not run."""

import os
from typing import Any

import click

from sqlqd import mounts
from sqlqd.circumstances import Circumstances
from sqlqd.cli import daemons, values
from sqlqd.cli.failure import Failed
from sqlqd.cli.output import Output
from sqlqd.cli.selection import no_such
from sqlqd.cli.session import Session
from sqlqd.config.places import start
from sqlqd.moments import iso
from sqlqd.why import Answer
from sqlqd.why import why as explain


@click.command(short_help="Say in one sentence why a job does not run.")
@click.argument("job", metavar="ID", callback=values.text)
@click.option("--json", "as_json", is_flag=True, help="One JSON document: reasons, sentence, numbers.")
@click.pass_obj
def why(session: Session, *, job: str, as_json: bool) -> None:
    """Say in one sentence why a job does not run at this moment, or that it does.

    ID may be cut to its first 6 characters or more.

    Example: sqlqd why 8527e0
    """
    config = session.config
    with session.store() as store:
        seen = store.circumstances(job, [queue.rules for queue in config.queues.values()])
    if seen is None:
        raise Failed(no_such([job]))
    alive = daemons.living(config.daemon.database)
    living = daemons.on_queue(config, alive, seen.daemons, seen.job.queue)
    room = mounts.room_at(config.daemon.database.parent)
    answer = explain(seen, living, start(config.path, os.environ), room)
    with Output() as output:
        if as_json:
            output.json(_document(seen, answer))
        else:
            output.line(answer.sentence)


def _document(seen: Circumstances, answer: Answer) -> dict[str, Any]:
    return {
        "id": seen.job.id,
        "queue": seen.job.queue,
        "state": seen.job.state.value,
        "reason": answer.reasons[0].code,
        "sentence": answer.sentence,
        "reasons": [{"reason": reason.code, **_with_iso(reason.numbers)} for reason in answer.reasons],
    }


def _with_iso(numbers: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for name, value in numbers.items():
        document[name] = value
        if name.endswith(("_at", "_until")):
            document[f"{name}_iso"] = None if value is None else iso(value)
    return document
