"""A durable job queue in one SQLite file. `connect` and `enqueue` are the way in from Python."""

from sqlqd.version import VERSION

__all__ = ["VERSION"]
