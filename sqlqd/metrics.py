"""A queue's numbers in the text format of Prometheus. Pure.

Names by its conventions: base units, `_total` for what only grows. A queue has few series of its own, and
of queues that are not configured only so many are named: everyone who may add jobs can invent names.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlqd.condition import Total
from sqlqd.model import Overview, QueueCount

_STRANGERS = 50
"""Queues without configuration that are named."""

_STATES = ("ready", "scheduled", "running", "dead")
_ENDS = ("done", "cancelled", "dead")
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


@dataclass(frozen=True, slots=True)
class Facts:
    """All that there is to be told."""

    seen: Overview
    """With those workers and daemons alone that live."""
    totals: Sequence[Total]
    up: bool
    """Whether a daemon runs."""
    log_bytes: int
    file_bytes: int
    version: str
    configured: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """One metric with all its series."""

    name: str
    kind: str
    help: str
    series: Sequence[tuple[Mapping[str, str], float]]


def text(facts: Facts) -> str:
    """All of it, ready to be scraped."""
    return "".join(line + "\n" for family in families(facts) for line in _lines(family))


def families(facts: Facts) -> Iterator[Family]:
    """The metrics, in a fixed order."""
    facts = _bounded(facts)
    yield from _of_jobs(facts)
    yield from _of_daemon(facts)


def _bounded(facts: Facts) -> Facts:
    """Without the strangers beyond the limit, those with the fewest jobs."""
    strangers = [one for one in facts.seen.queues if one.name not in facts.configured]
    strangers.sort(key=lambda one: (-(one.ready + one.scheduled + one.running + one.dead), one.name))
    named = {one.name for one in strangers[:_STRANGERS]} | set(facts.configured)
    past = {one.queue for one in facts.totals} - named - {one.name for one in strangers}
    named |= set(sorted(past)[: max(0, _STRANGERS - len(strangers))])
    queues = tuple(one for one in facts.seen.queues if one.name in named)
    return replace(
        facts,
        seen=replace(facts.seen, queues=queues),
        totals=[one for one in facts.totals if one.queue in named],
    )


def _of_jobs(facts: Facts) -> Iterator[Family]:
    seen, queues = facts.seen, facts.seen.queues
    jobs = [({"queue": one.name, "state": state}, getattr(one, state)) for one in queues for state in _STATES]
    yield Family("sqlqd_jobs", "gauge", "Jobs by queue and state.", jobs)
    oldest = [({"queue": one.name}, _waited(one, seen.now)) for one in queues]
    yield Family(
        *("sqlqd_oldest_ready_seconds", "gauge"),
        *("For how long the job that is ready longest has been due; 0 where none is.", oldest),
    )
    names = sorted({one.name for one in queues} | {one.queue for one in facts.totals})
    counted = {(one.queue, one.outcome): one.count for one in facts.totals}
    ends = [({"queue": name, "outcome": end}, counted.get((name, end), 0)) for name in names for end in _ENDS]
    yield Family("sqlqd_jobs_finished_total", "counter", "Jobs that ended, by how.", ends)
    for name, outcome, told in (
        ("sqlqd_retries_total", "failed", "Attempts that failed and were to be tried again."),
        ("sqlqd_crashes_total", "lost", "Attempts that took their worker down or lost their lease."),
    ):
        yield Family(
            name, "counter", told, [({"queue": one}, counted.get((one, outcome), 0)) for one in names]
        )
    paused = [({"queue": one.name}, seen.pause is not None or one.paused_at is not None) for one in queues]
    yield Family("sqlqd_queue_paused", "gauge", "Whether a person paused the queue, or all.", paused)
    blocked = [({"queue": one.name}, one.blocked_until is not None) for one in queues]
    yield Family(
        *("sqlqd_queue_blocked", "gauge"),
        *("Whether its command cannot be started, or its breaker holds it.", blocked),
    )


def _of_daemon(facts: Facts) -> Iterator[Family]:
    workers, daemons = facts.seen.workers, facts.seen.daemons
    busy = sum(1 for one in workers if one.job_id is not None)
    yield Family("sqlqd_up", "gauge", "Whether a daemon runs on the database.", [({}, facts.up)])
    if daemons:
        started = max(one.started_at for one in daemons)
        yield _single("sqlqd_daemon_start_time_seconds", "When the newest daemon was started.", started)
    yield _single("sqlqd_workers", "Workers that live.", len(workers))
    yield _single("sqlqd_workers_busy", "Workers that run a job.", busy)
    yield _single("sqlqd_wal_bytes", "Size of the write-ahead log.", facts.log_bytes)
    yield _single("sqlqd_database_bytes", "Size of the database without its log.", facts.file_bytes)
    info = {"version": facts.version}
    yield Family("sqlqd_build_info", "gauge", "The program that tells all this; always 1.", [(info, 1)])


def _single(name: str, told: str, value: float) -> Family:
    return Family(name, "gauge", told, [({}, value)])


def _waited(queue: QueueCount, now: float) -> float:
    return 0.0 if queue.oldest_ready_at is None else max(0.0, now - queue.oldest_ready_at)


def _lines(family: Family) -> Iterable[str]:
    yield f"# HELP {family.name} {family.help}"
    yield f"# TYPE {family.name} {family.kind}"
    for labels, value in family.series:
        named = ",".join(f'{name}="{_escaped(of)}"' for name, of in labels.items())
        yield f"{family.name}{{{named}}} {_number(value)}" if named else f"{family.name} {_number(value)}"


def _escaped(label: str) -> str:
    """As the format wants it; with what is no text made so."""
    return label.encode("utf-8", "replace").decode("utf-8").translate(_ESCAPES)


def _number(value: float) -> str:
    if isinstance(value, float) and not value.is_integer():
        return repr(value) if math.isfinite(value) else "NaN"
    return str(int(value))
