"""`sqlqd init` and `sqlqd schema`: what a person needs before there is anything to run."""

import os
from pathlib import Path

import click

from sqlqd.cli.failure import Failed
from sqlqd.cli.output import Output
from sqlqd.cli.session import Session

_PROJECT = Path(__file__).with_name("project.toml")
_USER = Path(__file__).with_name("user.toml")


@click.command(short_help="Write ./sqlqd.toml for a project of your own.")
@click.pass_obj
def init(session: Session) -> None:
    """Write ./sqlqd.toml, or the file that --config names, for a project of your own.

    With --user: the configuration of your user service, and the folder of its database. What $SQLQD_CONFIG
    names is never written.

    Example: sqlqd init && sqlqd -c sqlqd.toml run
    """
    if session.instance is not None:
        raise click.UsageError("an instance has the machine's configuration: copy /etc/sqlqd/sqlqd.toml")
    if session.user:
        path, text, next_step = *_of_user(), "sqlqd --user run"
    else:
        path = Path(session.explicit or "sqlqd.toml").absolute()
        text = _PROJECT.read_text(encoding="utf-8")
        next_step = f"sqlqd run -c {_argument(path)}"
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Failed(f"{path} is already there and was not touched") from None
    with Output() as output:
        output.line(f"wrote {os.fspath(path)}")
        output.line(f"next:  {next_step}")


def _of_user() -> tuple[Path, str]:
    """Where the user's own configuration belongs, and its text. Makes the folders: nobody else's business."""
    from sqlqd.config import places  # noqa: PLC0415 - a project needs none of it

    path, database = places.of_user(os.environ), places.database_of_user(os.environ)
    for folder in (path.parent, database.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    text = _USER.read_text(encoding="utf-8")
    return path, text.replace('"@DATABASE@"', _toml(database)).replace('"@HOME@"', _toml(Path.home()))


def _toml(path: Path) -> str:
    """A path as TOML writes it."""
    from json import dumps  # noqa: PLC0415 - rare

    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:
        raise Failed(f"{path} is not UTF-8, as a configuration has to be: write one by hand") from None
    return dumps(os.fspath(path), ensure_ascii=False).replace("\x7f", "\\u007F")


def _argument(path: Path) -> str:
    """The path as a shell takes it, short where it is in this directory."""
    from shlex import quote  # noqa: PLC0415 - rare

    return quote(path.name if path.parent == Path.cwd() else os.fspath(path))


@click.command(short_help="Print the database's DDL.")
def schema() -> None:
    """Print the DDL of the database, for an application's own migrations.

    Example: sqlqd schema >migrations/0042_queue.sql
    """
    from sqlqd.store.schema import ddl  # noqa: PLC0415 - init needs no database

    with Output() as output:
        output.line(ddl().rstrip())
