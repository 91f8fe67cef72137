"""What the store's suite needs of a backend, and the one that there is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from sqlqd.clock import Clock
from sqlqd.model import Claim, Ended, Holder, NewJob, Outcome, Record, Rules
from sqlqd.store.base import Store
from sqlqd.store.sqlite import open_store


class Backend(Protocol):
    """Opens any number of stores on one and the same queue."""

    def open(self, *, stop: Callable[[], bool] | None = None, busy_timeout: float = 5.0) -> Store:
        """Another store on it, closed with the test."""
        ...


class SqliteBackend:
    """A file in a folder of the test's own."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.path = folder / "queue.db"
        self._clock = clock
        self._open: list[Store] = []

    def open(self, *, stop: Callable[[], bool] | None = None, busy_timeout: float = 5.0) -> Store:
        """Another store on the file."""
        store = open_store(self.path, self._clock, create=True, stop=stop, busy_timeout=busy_timeout)
        self._open.append(store)
        return store

    def close(self) -> None:
        """Close all that were opened."""
        for store in self._open:
            store.close()


def holder(number: int = 1) -> Holder:
    """A worker with a uid of its own."""
    return Holder(uid=f"{number:016x}", slot=number, pid=1000 + number)


def add(store: Store, queue: str = "mail", payload: str = "", **facts: Any) -> str:
    """Enqueue one job; its id."""
    return store.enqueue([NewJob(queue, payload, **facts)])[0].id


def claim(store: Store, *queues: str | Rules, who: Holder | None = None, after: str = "") -> Claim | None:
    """The next job of the queues, by name or with their rules."""
    rules = [Rules(queue) if isinstance(queue, str) else queue for queue in queues or ("mail",)]
    return store.claim(who or holder(), rules, after=after).claim


def claimed(store: Store, *queues: str | Rules, who: Holder | None = None, after: str = "") -> Claim:
    """As `claim`, where there must be a job."""
    found = claim(store, *queues, who=who, after=after)
    assert found is not None, "there was nothing to claim"
    return found


def seen(store: Store, job_id: str) -> Record:
    """One job as a person sees it; there must be one."""
    found = store.record(job_id)
    assert found is not None, f"no job {job_id}"
    return found


def failure(code: int = 1, output: str = "", started_at: float = 0.0) -> Outcome:
    """A run that exited so."""
    return Outcome(Ended.EXITED, started_at, 1.5, code=code, output=output)
