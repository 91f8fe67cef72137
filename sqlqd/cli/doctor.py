"""`sqlqd doctor`: what is wrong, or soon will be, with this installation, and what to do."""

from collections.abc import Sequence
from typing import Any

import click

from sqlqd import exits
from sqlqd.account import absent
from sqlqd.cli import examination
from sqlqd.cli.output import Output
from sqlqd.cli.session import Session
from sqlqd.examine import Finding, Severity
from sqlqd.printable import printable

_ORDER = tuple(Severity)


@click.command(short_help="Say what is wrong with this installation, and what to do.")
@click.option("--full", is_flag=True, help="Look at all of the database, however long that takes.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def doctor(session: Session, *, full: bool, as_json: bool) -> int:
    """Look for what is wrong, or soon will be, with this installation; say of each what to do.

    The SQLite in use, the file system, its room, permissions, the write-ahead log and who holds it, the
    database's structure (for 5 s, with --full to its end), clocks, leases, the unit of systemd, commands,
    and what `status` tells. Exits with 1 where there is a problem; notes, and what could not be examined,
    are told and leave it at 0. As root it sees the most.

    Example: sudo sqlqd doctor
    """
    findings = sorted(
        examination.findings(session, session.load(absent), full=full),
        key=lambda one: _ORDER.index(one.severity),
    )
    problems = any(one.severity is Severity.PROBLEM for one in findings)
    with Output() as output:
        if as_json:
            output.json(_document(findings, well=not problems))
        else:
            for line in _lines(findings):
                output.line(line)
    return exits.FAILED if problems else exits.OK


def _lines(findings: Sequence[Finding]) -> list[str]:
    lines: list[str] = []
    for one in findings:
        lines += [f"{one.severity.value}: {printable(one.text)}", f"  {printable(one.remedy)}"]
    if all(one.severity is Severity.UNSEEN for one in findings):
        lines.append("nothing is wrong" if not findings else "nothing is wrong with what could be examined")
    return lines


def _document(findings: Sequence[Finding], *, well: bool) -> dict[str, Any]:
    return {
        "well": well,
        "findings": [
            {
                "severity": one.severity.value,
                "about": one.about,
                "text": one.text,
                "remedy": one.remedy,
            }
            for one in findings
        ],
    }
