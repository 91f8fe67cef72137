"""What a queue promises over time, and what is added by the clock, as `sqlqd check` tells of it."""

import math
from collections.abc import Iterator
from typing import Any

from sqlqd.config import Config, Queue
from sqlqd.model import Rate
from sqlqd.moments import local
from sqlqd.printable import printable
from sqlqd.timetable import Schedule
from sqlqd.units import spell

_ONLY_ZERO = frozenset({0})


def told(queue: Queue) -> Iterator[tuple[str, str]]:
    """Those of its promises that are not what they are for every queue."""
    if queue.success_codes != _ONLY_ZERO:
        yield "succeeds", f"by exit status {_codes(queue.success_codes)}"
    if queue.dead_codes:
        yield "gives up", f"at once by exit status {_codes(queue.dead_codes)}"
    if not math.isinf(queue.expires):
        yield "expires", f"{spell(queue.expires)} after it was added, where it was not started"
    if queue.max_waiting is not None:
        yield "waiting", f"at most {queue.max_waiting} jobs, or enqueue is refused"
    if queue.rate is not None:
        yield "rate", _rate(queue.rate)
    if queue.breaker is not None:
        failures, pause = queue.breaker.failures, spell(queue.breaker.pause)
        yield "breaker", f"held for {pause} after {failures} failures in a row; then one job is tried"
    if queue.exclusive:
        yield "keys", "jobs of the same key may be several, and run one after the other"
    if queue.on_dead is not None:
        yield "on_dead", f"each dead job is told to queue {printable(queue.on_dead)}"


def document(queue: Queue) -> dict[str, Any]:
    """All of them for programs."""
    rate, breaker = queue.rate, queue.breaker
    return {
        "success_codes": sorted(queue.success_codes),
        "dead_codes": sorted(queue.dead_codes),
        "expires_seconds": None if math.isinf(queue.expires) else queue.expires,
        "max_waiting": queue.max_waiting,
        "rate": None if rate is None else {"interval_seconds": rate.interval, "burst": rate.burst},
        "breaker": None
        if breaker is None
        else {"failures": breaker.failures, "pause_seconds": breaker.pause},
        "exclusive": queue.exclusive,
        "on_dead": queue.on_dead,
    }


def schedules(config: Config, now: float) -> Iterator[str]:
    """A line for each schedule. `now` in Unix seconds."""
    for one in config.schedules.values():
        at = one.timetable.after(now)
        when = "never" if at is None else f"{local(at)} local time"
        name, times, queue = (printable(text) for text in (one.name, one.times, one.queue))
        yield f"schedule {name}: {times}, into queue {queue}; next {when}"


def schedule_document(one: Schedule) -> dict[str, Any]:
    """One schedule for programs."""
    return {
        "name": one.name,
        "queue": one.queue,
        "spec": one.spec,
        "missed": one.missed.value,
        "overlap": one.overlap,
        "jitter_seconds": one.jitter,
    }


def _codes(codes: frozenset[int]) -> str:
    *others, last = (str(code) for code in sorted(codes))
    return f"{', '.join(others)} or {last}" if others else last


def _rate(rate: Rate) -> str:
    each = f"a job each {spell(rate.interval)}"
    return each if rate.burst == 1 else f"{each} on the average, {rate.burst} at once after a rest"
