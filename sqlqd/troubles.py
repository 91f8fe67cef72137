"""What a person should know at a glance, the gravest first, each with what to do about it. Pure."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from sqlqd.circumstances import DaemonNow, Stage
from sqlqd.model import Overview, QueueCount
from sqlqd.moments import local
from sqlqd.printable import printable
from sqlqd.room import Space
from sqlqd.units import roughly, spell

_LONG_WAIT = 300.0
"""Seconds that a job may be ready before anybody is told."""
_FAILURES = 5
"""Failed attempts in an hour from which on it is worth a word that more fail than succeed."""
_LONGEST = 200
"""Characters of another's words."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that is not as it should be, or may not be meant."""

    text: str
    remedy: str
    grave: bool
    """Whether jobs wait, or may, that nobody meant to wait."""

    @property
    def sentence(self) -> str:
        """What it is and what to do."""
        return f"{self.text}; {self.remedy}"


def troubles(
    seen: Overview,
    daemons: Sequence[DaemonNow],
    configured: Collection[str],
    config: str,
    start: str,
    *,
    room: Space | None = None,
) -> tuple[Trouble, ...]:
    """All of them; none: all is well. `daemons` are those that live; `config` is the file that they should
    run by, `start` the commands that start one; `room` is what the database's file system has left.
    """
    found = [*_of_disk(room), *_of_daemons(seen, daemons, start)]
    for queue in seen.queues:
        found += _of_queue(queue, seen.now, known=queue.name in configured, config=config)
    found += [*_orphans(seen), *_pauses(seen)]
    if daemons and seen.pause is None:
        served = (queue for queue in seen.queues if queue.name in configured)
        found += (slow for queue in served for slow in _slow(queue, seen))
    for queue in seen.queues:
        found += _failing(queue)
    found += _dead(seen)
    return tuple(sorted(found, key=lambda one: not one.grave))


def _of_disk(room: Space | None) -> Iterator[Trouble]:
    if room is not None and room.full:
        text = f"the database's disk is full ({roughly(room.free)} free): no job can be added, begun or ended"
        yield Trouble(text, "make room; `sqlqd doctor` names the folder", grave=True)


def _of_daemons(seen: Overview, daemons: Sequence[DaemonNow], start: str) -> Iterator[Trouble]:
    if not daemons:
        waiting = sum(queue.ready for queue in seen.queues)
        jobs = f", and {_jobs(waiting)} ready" if waiting else ""
        yield Trouble(f"no daemon is running{jobs}", f"{printable(start)} starts one", grave=True)
        return
    if all(one.stage is not Stage.RUNNING for one in daemons):
        one = daemons[0]
        yield Trouble(f"the daemon is {one.stage.value}", "wait until it has", grave=False)
    for one in daemons:
        if one.outdated and one.stage is Stage.RUNNING:
            yield Trouble(
                f"{_said(one.config)} was changed and not loaded since",
                f"`sqlqd check`, then {one.reload}",
                grave=True,
            )


def _of_queue(queue: QueueCount, now: float, *, known: bool, config: str) -> Iterator[Trouble]:
    name, waiting = _said(queue.name), queue.ready + queue.scheduled
    if not known and waiting:
        yield Trouble(
            f"{_jobs(waiting)} waiting in {name}, which is not configured",
            f"add [queues.{name}] to {_said(config)} and reload, or `sqlqd cancel --queue {name}`",
            grave=True,
        )
    if queue.blocked_until is not None:
        reason = _said(queue.blocked_reason or "")
        if not queue.broken:
            reason = f"its command cannot be started: {reason.removeprefix('cannot start ')}"
        yield Trouble(
            f"{name} is held for {spell(queue.blocked_until - now)}, since {reason}",
            f"once mended `sqlqd retry --queue {name}`",
            grave=True,
        )


def _orphans(seen: Overview) -> Iterator[Trouble]:
    if seen.orphaned:
        jobs = (
            "1 job that counts as running is"
            if seen.orphaned == 1
            else (f"{seen.orphaned} jobs that count as running are")
        )
        text = f"{jobs} under a lease of a worker that is gone"
        yield Trouble(text, "given out again once that is over, which `sqlqd why ID` tells", grave=False)


def _pauses(seen: Overview) -> Iterator[Trouble]:
    if seen.pause is not None:
        text = f"all queues are paused{_until(seen.pause.until)}"
        yield Trouble(text, "`sqlqd resume --all` ends that", grave=False)
    for queue in seen.queues:
        if queue.paused_at is not None:
            text = f"{_said(queue.name)} is paused{_until(queue.paused_until)}"
            yield Trouble(text, f"`sqlqd resume {_said(queue.name)}` ends that", grave=False)


def _until(at: float | None) -> str:
    return "" if at is None else f" until {local(at)}"


def _slow(queue: QueueCount, seen: Overview) -> Iterator[Trouble]:
    closed = queue.paused_at is not None or queue.blocked_until is not None
    if closed or queue.oldest_ready_at is None or seen.now - queue.oldest_ready_at < _LONG_WAIT:
        return
    busy = sum(1 for worker in seen.workers if worker.job_id is not None)
    text = (
        f"jobs of {_said(queue.name)} wait, of {queue.ready} that are ready the longest for "
        f"{spell(seen.now - queue.oldest_ready_at)}, with {busy} of {len(seen.workers)} workers busy"
    )
    yield Trouble(text, "`sqlqd why ID` says of each why it waits", grave=False)


def _failing(queue: QueueCount) -> Iterator[Trouble]:
    if queue.failed_last_hour >= _FAILURES and queue.failed_last_hour > queue.done_last_hour:
        text = (
            f"{queue.failed_last_hour} attempts of {_said(queue.name)} failed in the last hour and "
            f"{queue.done_last_hour} succeeded"
        )
        name = _said(queue.name)
        remedy = (
            f"`sqlqd list {name}`, `sqlqd show ID`; of those that are done since, "
            f"`sqlqd list {name} --state done` has the TRIES and `sqlqd logs ID` the reasons"
        )
        yield Trouble(text, remedy, grave=False)


def _dead(seen: Overview) -> Iterator[Trouble]:
    dead = sum(queue.dead for queue in seen.queues)
    if dead:
        text = f"{dead} dead {'job' if dead == 1 else 'jobs'}"
        yield Trouble(text, "`sqlqd list --state dead`", grave=False)


def _jobs(count: int) -> str:
    return "1 job is" if count == 1 else f"{count} jobs are"


def _said(text: str) -> str:
    line = printable(text)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
