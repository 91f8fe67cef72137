"""Every verb and every option says what it is for."""

from collections.abc import Iterator

import click
import pytest

from sqlqd.cli.verbs import VERBS, sqlqd
from tests.support.shell import Desk


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(sqlqd)
    yield "sqlqd", sqlqd
    for name in VERBS:
        command = sqlqd.get_command(context, name)
        assert command is not None
        yield name, command


@pytest.mark.parametrize(("name", "command"), list(commands()))
def test_a_verb_has_help_and_so_have_its_options(name: str, command: click.Command) -> None:
    assert command.help
    # As `sqlqd --help` shows it, on one line of 80 columns.
    assert not command.get_short_help_str(67).endswith("...")
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.opts


@pytest.mark.parametrize(("name", "command"), list(commands()))
def test_a_verb_takes_the_configuration(name: str, command: click.Command) -> None:
    assert any("--config" in option.opts and "-c" in option.opts for option in command.params)


def test_nothing_said_shows_the_help_as_it_is_meant_to_be_read(desk: Desk) -> None:
    shown = desk.run()
    assert shown.code == 2
    assert "\n  enqueue " in shown.err
