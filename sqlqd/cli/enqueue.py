"""`sqlqd enqueue` as click has it: its help, its completion, and what is said of options that are wrong."""

from typing import Any

import click

from sqlqd.cli import complete, values
from sqlqd.cli.options import ENQUEUE
from sqlqd.cli.session import Session

_QUEUE = click.Argument(["queue"], callback=values.text, shell_complete=complete.queues)
_PAYLOAD = click.Argument(["payload"], required=False)


@click.command(params=[_QUEUE, _PAYLOAD, *(values.option(one) for one in ENQUEUE)])
@click.pass_obj
def enqueue(session: Session, /, **given: Any) -> int:
    """Add a job and print its id, once it is on disk.

    PAYLOAD of - is read from standard input. Put -- before one that begins with a dash.

    Example: sqlqd enqueue send-email ada@example.org --delay 10min
    """
    from sqlqd.cli.entering import enqueue as entered  # noqa: PLC0415 - `sqlqd --help` needs none of it

    return entered(session, **given)
