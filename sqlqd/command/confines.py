"""Where one job's processes are kept and what they may use: a cgroup, or what the system has in its place."""

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlqd import limits
from sqlqd.cgroup import Domain, Leaf, Refused, Usage
from sqlqd.config import Queue


class Confines:
    """Those of one job. Without a cgroup there is nothing to count, to empty or to take away."""

    def __init__(self, queue: Queue, domain: Domain | None, *, slot: int, job_id: str) -> None:
        """Raises Refused where a queue with limits would have to do without its cgroup."""
        controllers = domain.controllers if domain is not None else frozenset[str]()
        self.leaf: Leaf | None = None
        self._files = limits.files(queue, controllers)
        self._data_limit = limits.data_limit(queue, controllers)
        if domain is None:
            return
        try:
            self.leaf = domain.leaf(slot, job_id)
        except Refused:
            if limits.wanted(queue):
                raise

    @property
    def before_exec(self) -> Callable[[], None] | None:
        """What a started process does before it becomes the command. None is by far the quickest."""
        most = self._data_limit
        if most is None:
            return None

        def hold() -> None:
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            least = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (least, least))

        return hold

    @contextmanager
    def entered(self) -> Iterator[None]:
        """What is started in the block is born inside. Raises Refused, and RuntimeError as `Leaf` does."""
        if self.leaf is None:
            yield
            return
        with self.leaf.entered():
            yield

    def enforce(self) -> None:
        """Set the limits. Raises Refused."""
        if self.leaf is not None:
            self.leaf.limit(self._files)

    def is_empty(self) -> bool:
        """Whether nothing runs inside, as far as there is an inside."""
        return self.leaf is None or not self.leaf.pids()

    def usage(self) -> Usage:
        """What was used inside so far."""
        return Usage() if self.leaf is None else self.leaf.usage()

    def remove(self) -> bool:
        """Take it away. False: something runs in it."""
        return self.leaf is None or self.leaf.remove()
