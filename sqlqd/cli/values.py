"""What options and arguments may be, beyond click's own types: callbacks that give the value to use."""

from collections.abc import Callable
from typing import TypeVar

import click

from sqlqd.cli import readers

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
