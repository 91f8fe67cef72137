"""What `enqueue` does: the one verb whose speed people feel, so this loads nothing that it does not use."""

import os

from sqlqd import exits, newjob
from sqlqd.cli.adding import PIECE, STANDARD_INPUT, Intake, Told, add_lines
from sqlqd.cli.failure import Failed, Refused
from sqlqd.cli.session import Session, unknown
from sqlqd.cli.unbroken import held, unbroken
from sqlqd.clock import SystemClock
from sqlqd.config.settings import Queue
from sqlqd.store.failures import StoreError

_LONGEST_KEY = 500


def enqueue(
    session: Session,
    *,
    queue: str,
    payload: str | None,
    delay: float | None,
    at: float | None,
    priority: int,
    key: str | None,
    on_conflict: str | None,
    max_attempts: int | None,
    expires: float | None,
    any_queue: bool,
    lines: bool,
    atomic: bool,
    wait: bool,
    timeout: float | None,
    as_json: bool,
) -> int:
    """Add what was asked for; the exit status. Raises Refused, Failed, ConfigError, StoreError."""
    _check_usage(payload, delay=delay, at=at, key=key, lines=lines, atomic=atomic)
    if on_conflict is not None and key is None:
        raise Refused("--on-conflict goes with --key")
    if timeout is not None and not wait:
        raise Refused("--timeout goes with --wait")
    if wait and lines:
        raise Refused("--wait and --lines exclude each other: pipe the ids to `sqlqd wait -`")
    configured = _configured(session, queue, any_queue=any_queue)
    like = newjob.NewJob(
        queue,
        run_at=at,
        delay=delay or 0.0,
        priority=priority,
        key=key,
        max_attempts=max_attempts,
        expires_at=_expiry(expires, delay=delay, at=at),
        shared=configured is not None and configured.exclusive and key is not None,
        on_conflict=_conflict(on_conflict, configured),
        max_waiting=None if configured is None else configured.max_waiting,
    )
    intake = Intake(like, configured)
    told = Told(as_json=as_json)
    if lines:
        with session.entry() as entry:
            add_lines(entry, intake, told, atomic=atomic)
    else:
        job = intake.job(_payload(payload, intake.limit))
        with session.entry() as entry, unbroken() if wait else held():
            (added,) = entry.enqueue([job])
            told.added([added])
        if wait:
            told.end()
            return _await(session, added.id, timeout)
    told.end()
    return exits.OK


def _await(session: Session, job_id: str, timeout: float | None) -> int:
    from sqlqd.cli.wait import await_jobs  # noqa: PLC0415 - only those who wait pay for it

    try:
        with session.store() as store:
            return await_jobs(store, [job_id], timeout=timeout, as_json=False, config=session.config)
    except StoreError as error:
        # A status of its own would say that the job had not been added.
        raise Failed(f"{job_id} was added, but waiting for it failed: {error}") from None


def _check_usage(
    payload: str | None, *, delay: float | None, at: float | None, key: str | None, lines: bool, atomic: bool
) -> None:
    if delay is not None and at is not None:
        raise Refused("--delay and --at exclude each other")
    if atomic and not lines:
        raise Refused("--atomic goes with --lines")
    if lines and payload not in {None, "-"}:
        raise Refused("with --lines the payloads come from standard input: leave PAYLOAD out")
    if lines and key is not None:
        raise Refused("--key and --lines exclude each other: only the first line would become a job")
    if key is not None and not 0 < len(key) <= _LONGEST_KEY:
        raise Refused(f"--key takes 1 to {_LONGEST_KEY} characters")


def _conflict(word: str | None, queue: Queue | None) -> newjob.Conflict:
    if word is not None and queue is not None and queue.exclusive:
        raise Refused(f"in {queue.name} jobs of a key take turns: there is no conflict to decide about")
    return newjob.Conflict(word or "keep")


def _expiry(expires: float | None, *, delay: float | None, at: float | None) -> float | None:
    """The moment after which the job is not started, in Unix seconds."""
    if expires is None:
        return None
    now = SystemClock().wall()
    if now + expires <= (at if at is not None else now + (delay or 0.0)):
        raise Refused("--expires ends before the job is due: it counts from now")
    return now + expires


def _configured(session: Session, name: str, *, any_queue: bool) -> Queue | None:
    queues = session.config.queues
    if name in queues or any_queue:
        return queues.get(name)
    raise Refused(unknown(name, queues))


def _payload(given: str | None, limit: int) -> bytes:
    """The payload's bytes as they came, whatever the locale made of them."""
    if given != "-":
        return os.fsencode(given or "")
    pieces: list[bytes] = []
    left = limit + 1
    while left > 0 and (piece := os.read(STANDARD_INPUT, min(PIECE, left))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
