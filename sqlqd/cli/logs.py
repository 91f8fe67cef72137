"""`sqlqd logs`: what the journal has of a job, and without a journal what was kept of its output."""

import os
from typing import TYPE_CHECKING

import click

from sqlqd import clock
from sqlqd.cli import records, values
from sqlqd.cli.failure import Failed, tell
from sqlqd.cli.output import Output
from sqlqd.cli.selection import no_such
from sqlqd.cli.session import Session
from sqlqd.command.chronicle import Entry, NoJournal, entries
from sqlqd.model import Attempt, Record, State
from sqlqd.moments import iso, local
from sqlqd.printable import printable

if TYPE_CHECKING:
    from sqlqd.store.base import Store

_READERS = " that you may read (members of groups systemd-journal and adm may read all)"
_ELSEWHERE = "a daemon that systemd did not start logs to its standard error"
_LOOK_AGAIN = 0.5
_LAST_LOOKS = 2
"""Looks at the journal after the job's end: its last record comes a moment later. As many are taken where
it has run and the journal has nothing of it."""


@click.command(short_help="Show what a job wrote and what became of it.")
@click.argument("job", metavar="ID", callback=values.text)
@click.option("-f", "--follow", is_flag=True, help="Go on until the job has ended.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document a line.")
@click.pass_obj
def logs(session: Session, *, job: str, follow: bool, as_json: bool) -> None:
    """Show a job's records from the journal: its starts, its output, its failures and its end.

    Where the journal cannot be read, or has nothing of it, says so and shows the tail of its output that is
    kept of each attempt that failed.

    Example: sqlqd logs --follow 8527e0
    """
    with session.store() as store:
        record = store.record(job)
        # Of a job that left no record the journal may still know.
        whole = job if record is None else record.id
        with Output() as output:
            try:
                seen = _print(store, whole, output, follow=follow and record is not None, as_json=as_json)
                readers = "" if os.geteuid() == 0 else _READERS
                why = f"the journal has no records of it{readers}; {_ELSEWHERE}"
            except NoJournal as error:
                seen, why = 0, str(error)
            if seen:
                return
            if record is None:
                raise Failed(no_such([job]))
            attempts, last = records.kept(record)
            kept: list[Attempt | str] = [*attempts, *([] if last is None else [last])]
            then = "What is kept of its output:" if kept else "Nothing is kept of its output"
            tell(f"{why}. {then}")
            before = 0
            for tail in kept:
                if isinstance(tail, Attempt):
                    if tail.number <= before and not as_json:
                        output.line("then it was retried:")
                    before = tail.number
                _tail(output, record, tail, as_json=as_json)


def _print(store: "Store", job_id: str, output: Output, *, follow: bool, as_json: bool) -> int:
    """Print what the journal has, and what comes; the number of records."""
    cursor: str | None = None
    seen, looks = 0, _LAST_LOOKS
    while True:
        for entry in entries(job_id, cursor):
            cursor = entry.cursor
            seen += 1
            _one(output, entry, as_json=as_json)
        output.flush()
        if not follow or looks == 0:
            return seen
        record = store.record(job_id)
        if record is None or record.state in (State.DEAD, State.DONE) or (record.attempts and not seen):
            looks -= 1
        clock.pause(_LOOK_AGAIN)


def _one(output: Output, entry: Entry, *, as_json: bool) -> None:
    if as_json:
        output.json({"timestamp": iso(entry.at), **entry.fields, "message": entry.message})
    else:
        output.line(f"{local(entry.at)}  {printable(entry.message)}")


def _tail(output: Output, record: Record, tail: Attempt | str, *, as_json: bool) -> None:
    said = tail if isinstance(tail, str) else tail.error
    attempt = None if isinstance(tail, str) else tail
    if as_json:
        at = None if attempt is None else iso(attempt.ended_at)
        number = None if attempt is None else attempt.number
        output.json({"timestamp": at, "job_id": record.id, "attempt": number, "message": said})
        return
    if attempt is not None:
        output.line(f"attempt {attempt.number}: ended {local(attempt.ended_at)}")
    for line in said.rstrip("\n").split("\n"):
        output.line(f"{'' if attempt is None else '  '}{printable(line)}")
