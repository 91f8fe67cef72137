"""The command line. `enqueue` and `run` have a short way of their own; what else there is, is click's."""

import gc
import os
import sys


def main() -> None:
    """Run one command and leave with its exit status."""
    _fill_standard_descriptors()
    # What a start makes stays: looking for garbage among it finds none.
    gc.disable()
    status = _short(sys.argv[1:])
    if status is not None:
        # All was written and closed; to take the interpreter apart would tell nobody anything.
        os._exit(status)
    gc.enable()
    sys.exit(_long(sys.argv[1:]))


def execute(arguments: list[str]) -> int:
    """Run one command; its exit status. What went wrong was told on standard error."""
    status = _short(arguments)
    return _long(arguments) if status is None else status


def _short(arguments: list[str]) -> int | None:
    if "enqueue" not in arguments and "run" not in arguments:
        return None
    from sqlqd.cli.short import execute  # noqa: PLC0415 - other verbs have no use for it

    return execute(arguments)


def _long(arguments: list[str]) -> int:
    from sqlqd.cli.verbs import execute  # noqa: PLC0415 - click takes as long to load as a job to be added

    return execute(arguments)


def _fill_standard_descriptors() -> None:
    if any(stream is None for stream in (sys.stdin, sys.stdout, sys.stderr)):
        from sqlqd.proc import fill_standard_descriptors  # noqa: PLC0415 - nearly always they are there

        fill_standard_descriptors()
