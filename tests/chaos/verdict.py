"""What a run under chaos must have held, judged from what was acknowledged, journalled and found after it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the journal. `at` is seconds of the monotonic clock."""

    what: str
    job: str
    attempt: int
    pid: int
    worker: int
    at: float


@dataclass(frozen=True, slots=True)
class Kill:
    """A process of the daemon that was killed; `role` is parent or child."""

    pid: int
    role: str
    at: float


@dataclass(frozen=True, slots=True)
class End:
    """How things stood when the daemon had ended."""

    done: frozenset[str]
    dead: frozenset[str]
    live: int
    integrity: str
    """What PRAGMA integrity_check says."""
    processes: tuple[str, ...]
    """Those that were left behind: pid and command line."""
    exit_status: int


def parse(text: str) -> list[Line]:
    """The journal's lines."""
    lines = []
    for line in text.splitlines():
        what, job, attempt, pid, worker, at = line.split()
        lines.append(Line(what, job, int(attempt), int(pid), int(worker), float(at)))
    return lines


def violations(acknowledged: Mapping[str, str], journal: Sequence[Line], end: End) -> list[str]:
    """Every broken promise, as one line each. `acknowledged` gives each job's kind."""
    began = {line.job for line in journal if line.what == "begin"}
    found = [
        f"{line.job} ran twice at once (attempt {line.attempt})" for line in journal if line.what == "overlap"
    ]
    for job, kind in acknowledged.items():
        if job not in began:
            found.append(f"{job} ({kind}) was acknowledged and never ran")
        where = [name for name, jobs in (("done", end.done), ("dead", end.dead)) if job in jobs]
        expected = "dead" if kind == "doomed" else "done"
        if where != [expected]:
            found.append(f"{job} ({kind}) should be {expected}, and is {' and '.join(where) or 'nowhere'}")
    found += [f"a process was left behind: {process}" for process in end.processes]
    if end.live:
        found.append(f"{end.live} rows are left in jobs")
    if end.integrity != "ok":
        found.append(f"integrity_check: {end.integrity}")
    if end.exit_status != 0:
        found.append(f"the daemon ended with exit status {end.exit_status}")
    return found


def reruns(journal: Iterable[Line]) -> int:
    """How many executions were not a job's first."""
    begins = [line.job for line in journal if line.what == "begin"]
    return len(begins) - len(set(begins))


def recoveries(kills: Iterable[Kill], journal: Sequence[Line]) -> list[float]:
    """For each worker killed at work: seconds until the job that it had began again."""
    taken = []
    for kill in kills:
        mine = [line for line in journal if line.worker == kill.pid and line.at <= kill.at]
        if not mine or mine[-1].what == "end":
            continue
        again = (line.at for line in journal if line.job == mine[-1].job and line.at > kill.at)
        begun = next(again, None)
        if begun is not None:
            taken.append(begun - kill.at)
    return taken
