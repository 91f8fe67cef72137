"""Exit statuses of every sqlqd command, in one place (sysexits.h where it has a number)."""

OK = 0
FAILED = 1
USAGE = 2
IO = 74
BUSY = 75
DENIED = 77
CONFIG = 78
TIMED_OUT = 124
"""A wait was given up after the time allowed, as `timeout` says it."""
INTERRUPTED = 130
"""Ctrl-C, as a shell reports it."""
