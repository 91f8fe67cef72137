"""`sqlqd backup`: a consistent copy of the database while everything runs."""

from pathlib import Path

import click

from sqlqd.cli.output import Output
from sqlqd.cli.session import Session
from sqlqd.cli.unbroken import interrupt_alike
from sqlqd.printable import printable
from sqlqd.units import roughly


@click.command(short_help="Copy the database while everything runs.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Write over FILE where it is there.")
@click.pass_obj
def backup(session: Session, *, file: Path, force: bool) -> None:
    """Copy the database to FILE, as it is at one moment, while the daemon and its jobs go on.

    FILE is there once the copy is whole and on the disk, with the database's permissions. Jobs that run at
    that moment run again from the copy. How to go back to one, or on to another machine: docs/backup.md.

    Example: sqlqd backup /var/backups/queue-$(date +%F).db
    """
    # A copy that is given up leaves nothing behind, whoever ends it.
    interrupt_alike()
    with session.store() as store:
        size = store.backup(file.absolute(), replace=force)
    with Output() as output:
        output.line(
            f"copied {printable(str(session.config.daemon.database))} to {printable(str(file))} "
            f"({roughly(size)})"
        )
