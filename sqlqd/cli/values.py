"""What options and arguments may be, beyond click's own types: callbacks that give the value to use."""

from collections.abc import Callable
from typing import TypeVar

import click

from sqlqd.cli import readers
from sqlqd.cli.options import Option

T = TypeVar("T")


def callback(read: Callable[[str], T]) -> Callable[[click.Context, click.Parameter, str | None], T | None]:
    """A reader as click calls it."""

    def checked(_: click.Context, __: click.Parameter, value: str | None) -> T | None:
        if value is None:
            return None
        try:
            return read(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    return checked


text = callback(readers.text)
duration = callback(readers.duration)


def option(one: Option) -> click.Option:
    """An option of the table as click has it."""
    names = [*one.names, one.variable]
    match one.read:
        case None:
            return click.Option(names, is_flag=True, help=one.help)
        case readers.Whole(low=low, high=high):
            kind = click.IntRange(low, high)
            return click.Option(names, type=kind, default=one.default, metavar=one.metavar, help=one.help)
        case readers.Word(known=known):
            return click.Option(names, type=click.Choice(known), help=one.help)
        case read:
            return click.Option(names, callback=callback(read), metavar=one.metavar, help=one.help)
