"""Jobs that wait."""

from collections.abc import Iterator, Sequence

from sqlqd.circumstances import MOST_AHEAD, Circumstances, DaemonNow, Stage, in_a_row
from sqlqd.model import LATEST, Pause, State
from sqlqd.moments import local
from sqlqd.room import Space
from sqlqd.units import roughly, spell
from sqlqd.why.reason import Numbers, Reason, at, many, no_daemon, said, short

_SOON = 10.0
"""Seconds after which a job that is due should have been taken by a worker that has nothing to do."""


def waiting(
    seen: Circumstances, daemons: Sequence[DaemonNow], start: str, room: Space | None
) -> Iterator[Reason]:
    """All that a waiting job waits for; at least one reason."""
    scheduled = seen.job.state is State.SCHEDULED and not _follows(seen)
    if scheduled:
        yield _due_later(seen)
    service = [*_out_of_room(room), *_unserved(seen, daemons, start)]
    yield from service
    closed = [*(_paused(pause, seen.now) for pause in seen.pauses), *_blocked(seen), *_in_turn(seen)]
    yield from closed
    if not scheduled and not service and not closed:
        serving = [one for one in daemons if one.stage is Stage.RUNNING and one.serves is not False]
        yield _turn(seen, serving)


def _follows(seen: Circumstances) -> bool:
    """Whether another job's end is what it waits for; by plain SQL any job may have the last of times."""
    return seen.turn_of is not None and (seen.job.run_at or 0.0) >= LATEST


def _due_later(seen: Circumstances) -> Reason:
    job = seen.job
    due = job.run_at if job.run_at is not None else seen.now
    numbers: Numbers = {"due_at": due, "due_in_seconds": due - seen.now}
    when = f"it is due in {spell(due - seen.now)}, at {local(due)}"
    error = said(job.last_error)
    # By their first lines: attempts that counted are remembered by less of their output.
    if error and error not in {said(each.error) for each in job.history}:
        return Reason("put_off", f"{when}, as its command put it off: {error}", numbers | {"error": error})
    if not job.attempts or not job.history:
        return Reason("scheduled", f"{when}, as it was enqueued for then", numbers)
    error = said(job.history[-1].error)
    how = f"with {error}" if error.startswith("exit ") else f"({error})"
    numbers |= {"attempt": job.attempts, "error": error, "exit_code": job.history[-1].exit_code}
    return Reason("backoff", f"{when}, after attempt {job.attempts} failed {how}", numbers)


def _out_of_room(room: Space | None) -> Iterator[Reason]:
    if room is not None and room.full:
        clause = (
            f"the database's disk is full ({roughly(room.free)} free), so that no job can be begun: make room"
        )
        yield Reason("disk_full", clause, {"free_bytes": room.free})


def _unserved(seen: Circumstances, daemons: Sequence[DaemonNow], start: str) -> Iterator[Reason]:
    """What keeps every daemon from it, whatever else may be."""
    queue = said(seen.job.queue)
    running = [one for one in daemons if one.stage is Stage.RUNNING]
    if not daemons:
        yield no_daemon(start)
        return
    if not running:
        one = daemons[0]
        if one.stage is Stage.STOPPING:
            clause = f"the daemon (pid {one.pid}) is stopping and starts no more jobs"
        else:
            clause = f"the daemon (pid {one.pid}) is still starting"
        yield Reason(one.stage.value, clause, {"daemon_pid": one.pid})
        return
    if all(one.serves is False for one in running):
        where = said(running[0].config)
        clause = f"its queue {queue} is not configured: there is no [queues.{queue}] in {where}"
        yield Reason("not_configured", clause, {"queue": queue, "config": where})


def _paused(pause: Pause, now: float) -> Reason:
    name, words = ("--all", "all queues are") if not pause.queue else (said(pause.queue), "its queue is")
    resume = f"`sqlqd resume {name}`"
    end = f"until {resume}" if pause.until is None else f"until {at(pause.until, now)} or {resume}"
    numbers: Numbers = {"paused_at": pause.since, "paused_until": pause.until}
    code = "paused" if pause.queue else "all_paused"
    return Reason(code, f"{words} paused since {at(pause.since, now)}, {end}", numbers)


def _blocked(seen: Circumstances) -> Iterator[Reason]:
    if seen.blocked_until is None:
        return
    left = seen.blocked_until - seen.now
    if seen.failures:
        clause = (
            f"its queue is held for another {spell(left)}, since {in_a_row(seen.failures)}; "
            "then one job is tried"
        )
        yield Reason("broken", clause, {"blocked_until": seen.blocked_until, "failures": seen.failures})
        return
    error = said(seen.blocked_reason).removeprefix("cannot start ")
    clause = (
        f"its queue is held for another {spell(left)}, since its command cannot be started: {error} "
        f"(once that is mended: `sqlqd retry --queue {said(seen.job.queue)}`)"
    )
    numbers: Numbers = {"blocked_until": seen.blocked_until, "blocked_seconds": left, "error": error}
    yield Reason("blocked", clause, numbers)


def _in_turn(seen: Circumstances) -> Iterator[Reason]:
    """What others of its queue have to do with it."""
    if seen.rated_until is not None:
        left = max(0.0, seen.rated_until - seen.now)
        clause = f"its queue's rate lets the next job start in {spell(left)}"
        yield Reason("rated", f"{clause}{_behind(seen, '')}", {"rated_until": seen.rated_until})
    if seen.turn_of is not None:
        clause = f"another job of its key, {short(seen.turn_of)}, has its turn"
        yield Reason("key_taken", clause, {"job_id": seen.turn_of})


def _turn(seen: Circumstances, serving: Sequence[DaemonNow]) -> Reason:
    """It is due, and its queue is open: what it waits for."""
    crew = [one for one in seen.workers if one.daemon_pid in {daemon.pid for daemon in serving}]
    idle = [one for one in crew if one.job_id is None]
    limits = [one.concurrency for one in serving]
    slots = None if None in limits else max((limit for limit in limits if limit is not None), default=None)
    numbers: Numbers = {"ahead": seen.ahead, "workers": len(crew), "idle_workers": len(idle)}
    if slots is not None and seen.leased >= slots:
        clause = f"{_slots(slots)} of its queue {'is' if slots == 1 else 'are'} taken, by {_named(seen)}"
        return Reason("full", f"{clause}{_behind(seen, '')}", numbers | {"concurrency": slots})
    if not crew:
        return Reason("no_worker", f"the daemon (pid {serving[0].pid}) has no worker up", numbers)
    if not idle:
        busy = "the only worker is" if len(crew) == 1 else f"all {len(crew)} workers are"
        turns = f"; {_others(seen.rivals)} with it" if seen.rivals else ""
        return Reason("busy", f"{busy} busy{_behind(seen, turns)}", numbers | {"queues": seen.rivals})
    return _next(seen, serving, len(crew), len(idle), numbers)


def _next(
    seen: Circumstances, serving: Sequence[DaemonNow], crew: int, idle: int, numbers: Numbers
) -> Reason:
    free = f"{idle} of {many(crew, 'worker')} {'has' if idle == 1 else 'have'} nothing to do"
    waited = seen.now - max(seen.job.run_at or 0.0, seen.job.created_at or 0.0)
    if seen.ahead:
        return Reason("next", f"it is due, {_ahead(seen)} of it, and {free}", numbers)
    if waited < _SOON:
        return Reason("next", f"nothing holds it up: it is due, and {free}", numbers)
    late = next((one for one in serving if one.outdated), None)
    if late is not None:
        clause = (
            f"the daemon (pid {late.pid}) may not know its queue: {said(late.config)} was changed since it "
            f"was loaded; to have it loaded, {late.reload}"
        )
        return Reason("not_loaded", clause, numbers | {"daemon_pid": late.pid})
    clause = (
        f"it is due since {spell(waited)} and {free}, which is not as it should be: see the log of the "
        f"daemon (pid {serving[0].pid})"
    )
    return Reason("overdue", clause, numbers | {"due_seconds": waited})


def _slots(count: int) -> str:
    return "the only slot" if count == 1 else f"all {count} slots"


def _named(seen: Circumstances) -> str:
    names = [short(one) for one in seen.holders]
    others = seen.leased - len(names)
    return f"{', '.join(names)}{f' and {others} more' if others > 0 else ''}"


def _behind(seen: Circumstances, more: str) -> str:
    return f", and {_ahead(seen)} of it{more}" if seen.ahead else more


def _ahead(seen: Circumstances) -> str:
    if seen.ahead >= MOST_AHEAD:
        return f"more than {MOST_AHEAD} jobs of its queue are ahead"
    return f"{many(seen.ahead, 'job')} of its queue {'is' if seen.ahead == 1 else 'are'} ahead"


def _others(count: int) -> str:
    return "another queue takes turns" if count == 1 else f"{count} other queues take turns"
