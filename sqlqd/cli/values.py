"""What options and arguments may be, beyond click's own types: callbacks that give the value to use."""

import math
import os

import click

from sqlqd import units

_LATEST = 1e11
"""The last moment that the database takes, in Unix seconds."""


def text(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Text by its bytes: UTF-8 whatever the locale says, and refused where it is not."""
    if value is None:
        return None
    try:
        return os.fsencode(value).decode("utf-8")
    except UnicodeError:
        raise click.BadParameter("this is not UTF-8") from None


def duration(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """Seconds, from a number or systemd's spelling."""
    if value is None:
        return None
    try:
        seconds = units.duration(value, bare=True)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if math.isinf(seconds):
        raise click.BadParameter("this needs an end")
    return seconds


def moment(_: click.Context, __: click.Parameter, value: str | None) -> float | None:
    """Unix seconds, from ISO 8601; local time where it names no zone."""
    if value is None:
        return None
    from datetime import datetime  # noqa: PLC0415 - only --at needs it

    try:
        # A time that a change of clocks leaves out counts as if the change had not been made yet; of one
        # that comes twice the first is meant.
        seconds = datetime.fromisoformat(value.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise click.BadParameter(
            f"{value!r} is not a moment such as 2030-12-24T18:00 or 2030-12-24T18:00Z"
        ) from None
    if not 0 <= seconds <= _LATEST:
        raise click.BadParameter(f"{value!r} is too far away")
    return seconds
