"""A durable job queue in one SQLite file. `connect` and `enqueue` are the way in from Python."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sqlqd.version import VERSION

if TYPE_CHECKING:
    from sqlqd.api import LeaseLost, Queue, connect
    from sqlqd.model import Claim
    from sqlqd.newjob import NewJob
    from sqlqd.producer import enqueue
    from sqlqd.store.failures import JobRefused, StoreBusy, StoreError

__all__ = [
    "VERSION",
    "Claim",
    "JobRefused",
    "LeaseLost",
    "NewJob",
    "Queue",
    "StoreBusy",
    "StoreError",
    "connect",
    "enqueue",
]

_WHERE = {
    "Claim": "sqlqd.model",
    "JobRefused": "sqlqd.store.failures",
    "LeaseLost": "sqlqd.api",
    "NewJob": "sqlqd.newjob",
    "Queue": "sqlqd.api",
    "StoreBusy": "sqlqd.store.failures",
    "StoreError": "sqlqd.store.failures",
    "connect": "sqlqd.api",
    "enqueue": "sqlqd.producer",
}
"""Where each name is made: the command line, which has the same package, loads none of them for nothing."""


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
