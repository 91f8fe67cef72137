"""`sqlqd enqueue`: the one verb whose speed people feel, so it loads nothing that it does not use."""

import os

import click

from sqlqd import exits, newjob
from sqlqd.cli import complete, values
from sqlqd.cli.adding import PIECE, STANDARD_INPUT, Intake, Told, add_lines
from sqlqd.cli.failure import Failed, Refused
from sqlqd.cli.session import Session, unknown_queue
from sqlqd.cli.unbroken import held, unbroken
from sqlqd.clock import SystemClock
from sqlqd.config.settings import Queue
from sqlqd.store.failures import StoreError

_LONGEST_KEY = 500


@click.command()
@click.argument("queue", callback=values.text, shell_complete=complete.queues)
@click.argument("payload", required=False)
@click.option(
    "--delay", callback=values.duration, metavar="DUR", help='Not before this long from now: 90, "1h 30min".'
)
@click.option(
    "--at",
    callback=values.moment,
    metavar="ISO8601",
    help="Not before this moment; local time unless it has a zone.",
)
@click.option(
    "--priority",
    type=click.IntRange(newjob.PRIORITIES[0], newjob.PRIORITIES[-1]),
    default=0,
    metavar="N",
    help="-100 to 100, higher first; 0 unless given.",
)
@click.option(
    "--key",
    callback=values.text,
    metavar="KEY",
    help="At most one live job of the queue has this key; it is told.",
)
@click.option(
    "--on-conflict",
    type=click.Choice([one.value for one in newjob.Conflict]),
    help="Where a live job has the key: keep it (default), replace what it is, next: one more after "
    "it, or error.",
)
@click.option(
    "--max-attempts", type=click.IntRange(1, 1_000_000), metavar="N", help="Instead of the queue's."
)
@click.option(
    "--expires", callback=values.duration, metavar="DUR", help="Not started after so long; then it is dead."
)
@click.option("--any-queue", is_flag=True, help="Also a queue that is not configured: the job waits.")
@click.option("--lines", is_flag=True, help="One job for each line of standard input.")
@click.option("--atomic", is_flag=True, help="With --lines: all of them in one transaction, or none.")
@click.option("--wait", is_flag=True, help="Then wait until it has ended, and exit as `sqlqd wait` does.")
@click.option("--timeout", callback=values.duration, metavar="DUR", help="With --wait: else exit 124.")
@click.option("--json", "as_json", is_flag=True, help='Print {"id": …, "created": …}.')
@click.pass_obj
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
    """Add a job and print its id, once it is on disk.

    PAYLOAD of - is read from standard input. Put -- before one that begins with a dash.

    Example: sqlqd enqueue send-email ada@example.org --delay 10min
    """
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
            return await_jobs(store, [job_id], timeout=timeout, as_json=False)
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
    raise Refused(unknown_queue(name, queues))


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
