"""`sqlqd metrics`: the numbers for Prometheus, by node_exporter's textfile collector."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

import click

from sqlqd.cli import status
from sqlqd.cli.failure import Failed
from sqlqd.cli.output import Output
from sqlqd.cli.session import Session
from sqlqd.metrics import Facts, text
from sqlqd.store import wal
from sqlqd.version import VERSION


@click.command(short_help="Print the queue's numbers for Prometheus.")
@click.option("-o", "--output", "target", metavar="FILE", help="Write them there, whole at every moment.")
@click.pass_obj
def metrics(session: Session, *, target: str | None) -> None:
    """Print the queue's numbers in Prometheus's text format.

    With --output into a file that is replaced at one stroke, for the textfile collector of node_exporter:
    docs/metrics.md has a timer that does so every minute.

    Example: sqlqd metrics -o /var/lib/prometheus/node-exporter/sqlqd.prom
    """
    sight = status.look(session)
    with session.store() as store:
        totals = store.totals()
    database = sight.config.daemon.database
    told = text(
        Facts(
            sight.overview,
            totals,
            up=bool(sight.daemons),
            log_bytes=wal.size(database),
            file_bytes=database.stat().st_size,
            version=VERSION,
            configured=frozenset(sight.config.queues),
        )
    )
    if target is not None:
        _write(Path(target).absolute(), told)
        return
    with Output() as output:
        output.text(told)


def _write(target: Path, told: str) -> None:
    """The collector reads what ends in `.prom`, at any moment, as a user of its own."""
    if not target.parent.is_dir():
        raise Failed(f"the directory {target.parent} does not exist; make it first")
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with part.open("x", encoding="utf-8") as file:
            file.write(told)
            os.fchmod(file.fileno(), 0o644)
        part.replace(target)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
