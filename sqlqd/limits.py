"""What a queue's limits come to: what is written into a job's cgroup, and what is left without one. Pure."""

from collections.abc import Collection, Mapping

from sqlqd.config import Queue
from sqlqd.units import spell_size

CONTROLLERS: Mapping[str, str] = {"memory_max": "memory", "cpu_quota": "cpu", "tasks_max": "pids"}
"""Which of the kernel's controllers each limit needs, by the names of both."""

MEMORY = CONTROLLERS["memory_max"]

OPTIONAL = frozenset({"memory.swap.max", "memory.oom.group"})
"""Files that not every kernel has, whose absence changes no limit of memory itself."""

_PERIOD = 100_000
"""Microseconds over which the kernel counts a quota: its own default, and systemd's."""


def wanted(queue: Queue) -> dict[str, str]:
    """The limits that a queue sets, by their names, as people write them."""
    limits = {
        "memory_max": None if queue.memory_max is None else spell_size(queue.memory_max),
        "cpu_quota": None if queue.cpu_quota is None else f"{queue.cpu_quota:g}%",
        "tasks_max": None if queue.tasks_max is None else str(queue.tasks_max),
    }
    return {name: value for name, value in limits.items() if value is not None}


def missing(queue: Queue, controllers: Collection[str]) -> list[str]:
    """The limits of a queue that no cgroup with these controllers holds its jobs to."""
    return [name for name in wanted(queue) if CONTROLLERS[name] not in controllers]


def files(queue: Queue, controllers: Collection[str]) -> dict[str, str]:
    """What is written into the files of a job's cgroup, where these controllers are.

    What may not be had as memory is not to be had as swap either, or a job that grows would slow down the
    whole machine before it is ended. A job that the kernel has to end for want of memory is ended whole: of
    a pipeline that loses a part, the rest would pass for a success.
    """
    found: dict[str, str] = {}
    if MEMORY in controllers:
        found["memory.oom.group"] = "1"
        if queue.memory_max is not None:
            found["memory.swap.max"] = "0"
            found["memory.max"] = str(queue.memory_max)
    if queue.cpu_quota is not None and CONTROLLERS["cpu_quota"] in controllers:
        found["cpu.max"] = f"{max(1000, round(queue.cpu_quota / 100.0 * _PERIOD))} {_PERIOD}"
    if queue.tasks_max is not None and CONTROLLERS["tasks_max"] in controllers:
        found["pids.max"] = str(queue.tasks_max)
    return found


def want_of_memory(queue: Queue, *, met_limit: bool) -> str:
    """Why the kernel ended a job for want of memory. `met_limit`: by its own limit, not for others."""
    if queue.memory_max is None or not met_limit:
        return "no memory was left for it"
    return f"it used more than memory_max = {spell_size(queue.memory_max)}"


def data_limit(queue: Queue, controllers: Collection[str]) -> int | None:
    """Bytes of RLIMIT_DATA for each process, in place of a limit of the job's memory where that cannot be.

    Not RLIMIT_AS: many programs reserve far more addresses than they ever use. RLIMIT_NPROC is no limit of
    a job: it counts all processes of the user, the daemon's own and other jobs' among them.
    """
    return None if MEMORY in controllers else queue.memory_max
