"""`sqlqd init` and `sqlqd schema`: what a person needs before there is anything to run."""

import os
from pathlib import Path

import click

from sqlqd.cli.failure import Failed
from sqlqd.cli.output import Output
from sqlqd.cli.session import Session

_PROJECT = Path(__file__).with_name("project.toml")


@click.command(short_help="Write ./sqlqd.toml for a project of your own.")
@click.pass_obj
def init(session: Session) -> None:
    """Write ./sqlqd.toml, or the file that --config names, for a project of your own."""
    path = Path(session.explicit or "sqlqd.toml").absolute()
    text = _PROJECT.read_text(encoding="utf-8")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Failed(f"{path} is already there and was not touched") from None
    with Output() as output:
        output.line(f"wrote {os.fspath(path)}")
        output.line(f"next:  sqlqd run -c {_argument(path)}")


def _argument(path: Path) -> str:
    """The path as a shell takes it, short where it is in this directory."""
    from shlex import quote  # noqa: PLC0415 - rare

    return quote(path.name if path.parent == Path.cwd() else os.fspath(path))


@click.command(short_help="Print the database's DDL.")
def schema() -> None:
    """Print the DDL of the database, for an application's own migrations."""
    from sqlqd.store.schema import ddl  # noqa: PLC0415 - init needs no database

    with Output() as output:
        output.line(ddl().rstrip())
