"""`sqlqd run` as click has it: its help, and what is said of options that are wrong."""

from typing import Any

import click

from sqlqd.cli import values
from sqlqd.cli.options import RUN
from sqlqd.cli.session import Session


@click.command(params=[values.option(one) for one in RUN])
@click.pass_obj
def run(session: Session, /, **given: Any) -> int:
    """Run the daemon in the foreground, until SIGTERM or SIGINT.

    Example: sqlqd -c sqlqd.toml run
    """
    from sqlqd.cli.running import run as running  # noqa: PLC0415 - `sqlqd --help` needs none of it

    return running(session, **given)
