"""Prints sqlqd's manual page: what `sqlqd --help` says of each verb, and what stands nowhere else."""

import re
from collections.abc import Iterator
from inspect import cleandoc

import click

from sqlqd.cli.verbs import sqlqd

HEAD = r"""'\" Made by scripts/manual; do not edit.
.TH SQLQD 1 "" "sqlqd" "User Commands"
.SH NAME
sqlqd \- a durable job queue in one SQLite file that runs your commands
.SH SYNOPSIS
.B sqlqd
[\fIOPTIONS\fR] \fIVERB\fR [\fIARGUMENTS\fR]
.SH DESCRIPTION
A queue is a name, a command and a policy in a TOML file. A job is a row of an SQLite file: it names its
queue and carries a payload. The daemon claims a job under a lease and runs the queue's command for it; exit
status 0 ends the job, any other one is tried again later, and a job that failed too often is kept among the
dead ones.
.PP
Jobs may also be added by plain SQL, from any language:
.PP
.RS
.EX
INSERT INTO jobs (queue, payload) VALUES ('send\-email', 'ada@example.org')
.EE
.RE
"""

TAIL = r""".SH EXIT STATUS
.TP
.B 0
done
.TP
.B 1
it could not be done: no such job, no database \&...
.TP
.B 2
wrong usage, an unknown queue, a payload that is refused
.TP
.B 74
input or output failed, such as a full disk
.TP
.B 75
the database stayed locked, or the queue is full: nothing was changed, try again
.TP
.B 77
no permission; the message says what would give it
.TP
.B 78
the configuration is wrong
.TP
.B 124
a wait was given up after its timeout
.SH TIMES
Lengths are seconds or systemd's spelling: 90, 250ms, "1h 30min", 7d. Moments are ISO 8601, in local time
where they have no zone.
.SH ENVIRONMENT
.TP
.B SQLQD_CONFIG
the configuration, where no option names one
.TP
.B NO_COLOR
no colours
.PP
Commands get SQLQD_JOB_ID, SQLQD_QUEUE, SQLQD_KEY, SQLQD_ATTEMPT, SQLQD_MAX_ATTEMPTS, SQLQD_CONFIG,
SQLQD_WORKER, SQLQD_CONTROL, and SQLQD_PAYLOAD where the payload has at most 64 KiB; it comes by standard
input too.
.SH FILES
.TP
.I /etc/sqlqd/sqlqd.toml
the configuration, each setting with its text
.TP
.I /var/lib/sqlqd/queue.db
the database
.SH SEE ALSO
.BR systemctl (1),
.BR journalctl (1),
.BR sqlite3 (1)
"""


def escaped(text: str) -> str:
    """Text as roff has it."""
    plain = text.replace("\\", r"\e").replace("-", r"\-")
    plain = re.sub(r"[^\x00-\x7f]", lambda found: rf"\[u{ord(found[0]):04X}]", plain)
    return re.sub(r"^([.'])", r"\\&\1", plain, flags=re.MULTILINE)


def verb(name: str, command: click.Command) -> Iterator[str]:
    """One verb: its usage, its text, its options."""
    context = click.Context(command, info_name=f"sqlqd {name}")
    yield f'.SS "{escaped(context.command_path)}"'
    yield f".B {escaped(context.command_path)}"
    yield escaped(" ".join(command.collect_usage_pieces(context)))
    for paragraph in cleandoc(command.help or "").split("\n\n"):
        yield ".PP"
        if paragraph.startswith("Example: "):
            yield f".EX\n{escaped(paragraph.removeprefix('Example: '))}\n.EE"
        else:
            yield escaped(" ".join(paragraph.split()))
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None and parameter.name not in {"config", "user", "instance", "help"}:
            yield f".TP\n.B {escaped(record[0])}\n{escaped(record[1])}"


def page() -> str:
    """The whole page."""
    context = click.Context(sqlqd, info_name="sqlqd")
    parts = [HEAD.rstrip("\n"), ".SH OPTIONS"]
    for parameter in sqlqd.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            parts.append(f".TP\n.B {escaped(record[0])}\n{escaped(record[1])}")
    parts.append(".SH VERBS")
    for name in sqlqd.list_commands(context):
        command = sqlqd.get_command(context, name)
        if command is not None:
            parts += verb(name, command)
    return "\n".join(parts) + "\n" + TAIL


if __name__ == "__main__":
    print(page(), end="")
