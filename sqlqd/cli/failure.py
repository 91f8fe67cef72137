"""Failures as people and scripts meet them: one line on standard error and an exit status, in one place."""

import errno
import os

from sqlqd import exits
from sqlqd.cli.output import ReaderLeft
from sqlqd.printable import printable

_STANDARD_ERROR = 2


class Refused(Exception):
    """What was asked for makes no sense: usage, an unknown queue, a payload that is not allowed."""


class Failed(Exception):
    """It could not be done; the text says what to do next."""


def tell(text: str) -> None:
    """One line on standard error; silently none where that is closed."""
    line = f"sqlqd: {printable(text)}\n".encode("utf-8", "backslashreplace")
    try:
        os.write(_STANDARD_ERROR, line)
    except OSError:
        # There is nobody left to tell; the exit status says the rest.
        return


def report(error: BaseException) -> int:
    """Tell what happened and return the exit status that stands for it."""
    if isinstance(error, ReaderLeft):
        return exits.OK
    status, lines = explained(error)
    for line in lines:
        tell(line)
    return status


def explained(error: BaseException) -> tuple[int, tuple[str, ...]]:
    """The exit status and the lines that stand for a failure."""
    if isinstance(error, Refused):
        return exits.USAGE, (str(error),)
    if isinstance(error, Failed):
        return exits.FAILED, (str(error),)
    if isinstance(error, OSError):
        denied = error.errno in (errno.EACCES, errno.EPERM)
        where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return exits.DENIED if denied else exits.IO, (f"{where}{error.strerror or error}",)
    if isinstance(error, MemoryError):
        return exits.FAILED, ("the memory that there is does not suffice for this",)
    return _of_ours(error) or (exits.FAILED, (_bug(error),))


def _of_ours(error: BaseException) -> tuple[int, tuple[str, ...]] | None:
    from sqlqd.config import ConfigDenied, ConfigError  # noqa: PLC0415 - only those who fail pay for it
    from sqlqd.store import base  # noqa: PLC0415 - as above

    if isinstance(error, ConfigError):
        return exits.DENIED if isinstance(error, ConfigDenied) else exits.CONFIG, error.problems
    if isinstance(error, base.StoreError):
        statuses = {
            base.JobRefused: exits.USAGE,
            base.StoreFailed: exits.IO,
            base.StoreBusy: exits.BUSY,
            base.QueueFull: exits.BUSY,
            base.StoreDenied: exits.DENIED,
        }
        return statuses.get(type(error), exits.FAILED), (str(error),)
    return None


def _bug(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else ""
    return f"this is a mistake in sqlqd itself: {type(error).__name__}: {error}{where}"
