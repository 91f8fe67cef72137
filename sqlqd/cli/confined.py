"""Which limits of a queue's jobs are in force: what the daemon that runs has been given decides."""

from dataclasses import dataclass

from sqlqd import delegation, limits, presence, proc
from sqlqd.cgroup import Domain
from sqlqd.config import Config, Queue

_DELEGATE = "a unit with Delegate=yes and ProtectControlGroups=no"
_WORDS = {"memory_max": "{} of memory", "cpu_quota": "{} of a processor", "tasks_max": "{} processes"}


@dataclass(frozen=True, slots=True)
class Standing:
    """How the daemons that run on the database hold their jobs to limits."""

    runs: bool
    """Whether there is one, as far as can be seen."""
    delegated: bool = False
    """Whether each has cgroups of its own to give."""
    controllers: frozenset[str] = frozenset()
    """Of the cgroups of each of them."""


def standing(config: Config) -> Standing:
    """That of this moment."""
    try:
        pids = [pid for pid in presence.living(config.daemon.database) if proc.is_parent(pid)]
    except OSError:
        pids = []
    return together([delegation.of_daemon(pid) for pid in pids])


def together(domains: list[Domain | None]) -> Standing:
    """What holds for jobs of any of the daemons with these cgroups."""
    given = [one.controllers if one is not None else frozenset[str]() for one in domains]
    if not given:
        return Standing(runs=False)
    controllers = frozenset.intersection(*given)
    return Standing(runs=True, delegated=None not in domains, controllers=controllers)


def told(queue: Queue) -> str:
    """A queue's limits in words; empty where it has none."""
    return ", ".join(_WORDS[name].format(value) for name, value in limits.wanted(queue).items())


def in_force(queue: Queue, now: Standing) -> list[str] | None:
    """The names of a queue's limits that its jobs are held to; None where no daemon runs to ask."""
    if not now.runs:
        return None
    missing = limits.missing(queue, now.controllers)
    return [name for name in limits.wanted(queue) if name not in missing]


def warnings(queue: Queue, now: Standing) -> list[str]:
    """What of a queue's limits is not in force, and what would bring it."""
    missing = limits.missing(queue, now.controllers)
    if not missing:
        return []
    if not now.runs:
        return [
            f"{_are(missing, 'in force')} only under {_DELEGATE}; no daemon runs here that could be asked"
        ]
    if now.delegated:
        names = " and ".join(limits.CONTROLLERS[name] for name in missing)
        return [f"{_are(missing, 'not in force')}: the system gives the daemon's unit no controller {names}"]
    found = []
    if "memory_max" in missing:
        found.append(f"memory_max holds for each process, not for the whole job: that needs {_DELEGATE}")
    others = [name for name in missing if name != "memory_max"]
    if others:
        found.append(f"{_are(others, 'not in force')}: that needs {_DELEGATE}")
    return found


def _are(names: list[str], what: str) -> str:
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} {what}"
