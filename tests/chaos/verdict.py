"""What a run under chaos must have held, judged from what was acknowledged, journalled and found after it."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.chaos.kinds import KINDS

ACCUSATIONS = {
    "overlap": "ran twice at once",
    "crowd": "ran although its queue was full",
    "garbled": "did not get its payload",
}
"""What an execution itself says, besides that it begins and ends."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the journal. `at` is seconds of the monotonic clock."""

    what: str
    job: str
    attempt: int
    pid: int
    born: str
    worker: int
    at: float


@dataclass(frozen=True, slots=True)
class Kill:
    """A process that was killed, and what it was."""

    pid: int
    role: str
    at: float


@dataclass(frozen=True, slots=True)
class Dead:
    """A row of the dead jobs, and the numbers of the attempts that its history holds."""

    attempts: int
    crashes: int
    reason: str
    history: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class End:
    """How things stood when the daemon had ended."""

    done: Mapping[str, int]
    """Attempts by id."""
    dead: Mapping[str, Dead]
    kinds: Mapping[str, str]
    """Of all those."""
    live: int
    twice: tuple[str, ...]
    """Ids that are in two tables."""
    integrity: str
    """What PRAGMA integrity_check says."""
    processes: tuple[str, ...]
    """Those that were left behind: pid and command line."""


def parse(text: str) -> list[Line]:
    """The journal's lines."""
    lines = []
    for line in text.splitlines():
        what, job, attempt, pid, born, worker, at = line.split()
        lines.append(Line(what, job, int(attempt), int(pid), born, int(worker), float(at)))
    return lines


def violations(
    acknowledged: Mapping[str, str], rolled_back: Collection[str], journal: Sequence[Line], end: End
) -> list[str]:
    """Every broken promise, as one line each. `acknowledged` gives each job's kind."""
    begun: dict[str, list[Line]] = {}
    for line in journal:
        if line.what == "begin":
            begun.setdefault(line.job, []).append(line)
    found = [
        f"{line.job} {ACCUSATIONS[line.what]} (attempt {line.attempt}, at {line.at:.3f})"
        for line in journal
        if line.what in ACCUSATIONS
    ]
    found += [
        f"{job} was rolled back and is there" for job in rolled_back if job in end.kinds or job in begun
    ]
    found += [
        f"{job} ({kind}) was acknowledged and is gone"
        for job, kind in acknowledged.items()
        if job not in end.kinds
    ]
    for job, kind in end.kinds.items():
        found += (f"{job} ({kind}) {wrong}" for wrong in _wrong(kind, begun.get(job, []), job, end))
    found += _overlaps(journal)
    found += [f"{job} is in two tables" for job in end.twice]
    found += [f"a process was left behind: {process}" for process in end.processes]
    if end.live:
        found.append(f"{end.live} rows are left in jobs")
    if end.integrity != "ok":
        found.append(f"integrity_check: {end.integrity}")
    return found


def _wrong(kind: str, begun: Sequence[Line], job: str, end: End) -> Iterator[str]:
    """What is wrong with one job that has ended."""
    is_where = "dead" if job in end.dead else "done"
    attempts = end.dead[job].attempts if job in end.dead else end.done[job]
    if is_where != KINDS[kind].ends:
        yield f"should be {KINDS[kind].ends}, and is {is_where}" + (
            f": {end.dead[job].reason}" if job in end.dead else ""
        )
    numbers = [line.attempt for line in begun]
    if numbers != sorted(numbers):
        yield f"began its attempts in the order {numbers}"
    if is_where == "done" and (not numbers or numbers[-1] != attempts):
        yield f"is done after {attempts} attempts, of which {numbers} began"
    if is_where == "dead":
        yield from _wrong_death(end.dead[job], numbers)


def _wrong_death(dead: Dead, begun: Sequence[int]) -> Iterator[str]:
    if sorted(set(dead.history)) != list(range(1, dead.attempts + 1)):
        yield f"died after {dead.attempts} attempts with a history of {sorted(dead.history)}"
    if not begun and dead.crashes < dead.attempts:
        yield f"never ran, and died after {dead.attempts} attempts with {dead.crashes} crashes"
    if begun and begun[-1] > dead.attempts:
        yield f"died after {dead.attempts} attempts, and began its attempt {begun[-1]}"


def _overlaps(journal: Sequence[Line]) -> Iterator[str]:
    """Executions that ended after the next of the same job had begun. One that was killed has no end here;
    the lock that it held until its last process was gone speaks for it."""
    running: dict[str, Line] = {}
    for line in journal:
        if line.what == "begin":
            running[line.job] = line
        elif line.what == "end":
            last = running.get(line.job)
            if last is None or (last.pid, last.born) != (line.pid, line.born):
                yield f"{line.job} ended its attempt {line.attempt} when another had begun"


def reruns(journal: Iterable[Line]) -> int:
    """How many executions were not a job's first."""
    times = Counter(line.job for line in journal if line.what == "begin")
    return sum(times.values()) - len(times)


def recoveries(kills: Iterable[Kill], journal: Sequence[Line]) -> list[float]:
    """For each worker killed at work: seconds until the job that it had began again."""
    by_worker: dict[int, list[Line]] = {}
    begins: dict[str, list[float]] = {}
    for line in journal:
        by_worker.setdefault(line.worker, []).append(line)
        if line.what == "begin":
            begins.setdefault(line.job, []).append(line.at)
    taken = []
    for kill in kills:
        mine = [line for line in by_worker.get(kill.pid, []) if line.at <= kill.at]
        if kill.role != "worker" or not mine or mine[-1].what == "end":
            continue
        again = next((at for at in begins[mine[-1].job] if at > kill.at), None)
        if again is not None:
            taken.append(again - kill.at)
    return taken
