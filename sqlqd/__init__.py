"""A durable job queue in one SQLite file. `connect` and `enqueue` are the way in from Python."""

from sqlqd.api import LeaseLost, Queue, connect
from sqlqd.model import Claim, NewJob
from sqlqd.producer import enqueue
from sqlqd.store.base import JobRefused, StoreBusy, StoreError
from sqlqd.version import VERSION

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
