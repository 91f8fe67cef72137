"""The verbs as click has them: finds the one that is named, loads only what it needs, tells what failed."""

from functools import partial
from importlib import import_module

import click

from sqlqd import exits
from sqlqd.cli.failure import report, tell
from sqlqd.cli.options import WHERE, YES, Option
from sqlqd.cli.session import Session
from sqlqd.version import VERSION

VERBS = {
    "run": "sqlqd.cli.run:run",
    "init": "sqlqd.cli.setup:init",
    "check": "sqlqd.cli.check:check",
    "enqueue": "sqlqd.cli.enqueue:enqueue",
    "wait": "sqlqd.cli.wait:wait",
    "schedules": "sqlqd.cli.schedules:schedules",
    "trigger": "sqlqd.cli.schedules:trigger",
    "status": "sqlqd.cli.status:status",
    "list": "sqlqd.cli.inspect:list_",
    "show": "sqlqd.cli.inspect:show",
    "why": "sqlqd.cli.why:why",
    "logs": "sqlqd.cli.logs:logs",
    "retry": "sqlqd.cli.change:retry",
    "cancel": "sqlqd.cli.change:cancel",
    "kill": "sqlqd.cli.change:kill",
    "purge": "sqlqd.cli.change:purge",
    "pause": "sqlqd.cli.pause:pause",
    "resume": "sqlqd.cli.pause:resume",
    "doctor": "sqlqd.cli.doctor:doctor",
    "health": "sqlqd.cli.health:health",
    "metrics": "sqlqd.cli.metrics:metrics",
    "backup": "sqlqd.cli.backup:backup",
    "schema": "sqlqd.cli.setup:schema",
}
"""Each verb and where it is; in the order of `sqlqd --help`."""

CHAPTERS = {
    "run": "The daemon and its configuration",
    "enqueue": "Adding jobs",
    "status": "Seeing what goes on",
    "retry": "Changing it",
    "doctor": "Looking after the installation",
}
"""What the verbs from this one on are for, as `sqlqd --help` has it."""

_CLOSING = """
Each verb's --help has an example. A job's ID may be cut to its first 6 characters or more. DUR is in seconds,
or as systemd spells it: 90, 250ms, "1h 30min", 7d."""


def _where_options() -> list[click.Option]:
    """The options by which every verb finds its configuration."""
    return [_where_option(one) for one in WHERE]


def _where_option(one: Option) -> click.Option:
    option = partial(click.Option, one.names, expose_value=False, callback=_choose, help=one.help)
    return option(metavar=one.metavar) if one.read else option(flag_value=YES)


def _choose(context: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    try:
        context.ensure_object(Session).choose(f"--{option.name}", value)
    except ValueError as error:
        raise click.UsageError(str(error), context) from None


class _Verbs(click.Group):
    """Verbs that are loaded when they are named; each also takes what names the configuration behind it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(VERBS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs, by chapters."""
        told: dict[str, list[tuple[str, str]]] = {}
        chapter, width = "", max(map(len, VERBS))
        for name in VERBS:
            chapter = CHAPTERS.get(name, chapter)
            command = self.get_command(ctx, name)
            if command is not None:
                told.setdefault(chapter, []).append((name.ljust(width), command.get_short_help_str(67)))
        for chapter, verbs in told.items():
            with formatter.section(chapter):
                formatter.write_dl(verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in VERBS:
            return None
        module, _, name = VERBS[cmd_name].partition(":")
        command = getattr(import_module(module), name)
        if not isinstance(command, click.Command):
            raise TypeError(f"{VERBS[cmd_name]} is not a command")
        if not any(option.name == "config" for option in command.params):
            command.params += _where_options()
        return command


@click.group(
    cls=_Verbs,
    params=_where_options(),
    epilog=_CLOSING,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
@click.version_option(VERSION, prog_name="sqlqd", message="%(prog)s %(version)s")
@click.pass_context
def sqlqd(context: click.Context) -> None:
    """A durable job queue in one SQLite file that runs your commands."""
    context.ensure_object(Session)


def execute(arguments: list[str]) -> int:
    """Run one command; its exit status. What went wrong was told on standard error."""
    try:
        status = sqlqd.main(args=arguments, prog_name="sqlqd", standalone_mode=False)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return exits.USAGE
    except click.Abort:
        return exits.INTERRUPTED
    except click.ClickException as error:
        tell(_usage(error))
        return exits.USAGE
    except Exception as error:  # noqa: BLE001 - the one place where every failure becomes a line and a status
        return report(error)
    return int(status or 0)


def _usage(error: click.ClickException) -> str:
    said = error.format_message().replace("\n", " ").rstrip(".")
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "sqlqd"
    return f"{said}; see `{command} --help`"
