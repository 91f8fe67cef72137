"""Everything at a glance, and one job whole: what `status` and `show` read."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from sqlqd.circumstances import in_a_row
from sqlqd.model import (
    DaemonSeen,
    Lease,
    Overview,
    Progress,
    QueueCount,
    Record,
    Selection,
    State,
    WorkerSeen,
)
from sqlqd.store import pauses
from sqlqd.store.database import Database, Moment
from sqlqd.store.ledger import SLOT
from sqlqd.store.schema import WITH_POLICIES, WITH_PROGRESS
from sqlqd.store.selecting import Placed, at, history, places
from sqlqd.store.turns import LONGEST_BLOCK

_WAITING = """
SELECT CAST(queue AS BLOB), sum(run_at <= ?1), sum(run_at > ?1), min(CASE WHEN run_at <= ?1 THEN run_at END)
FROM jobs INDEXED BY jobs_waiting WHERE locked_by IS NULL GROUP BY queue
"""

_HELD = """
SELECT CAST(queue AS BLOB), sum(lost = 0), sum(lost = 1),
    min(CASE WHEN lost = 1 AND typeof(run_at) = 'real' THEN run_at END)
FROM jobs INDEXED BY jobs_held WHERE locked_by IS NOT NULL GROUP BY queue
"""

_DEAD = "SELECT CAST(queue AS BLOB), count(*) FROM dead_jobs INDEXED BY dead_jobs_queue GROUP BY queue"

_PAUSES = """
SELECT CAST(queue AS BLOB), paused_at, paused_until FROM sqlqd_queues
WHERE queue <> '' AND paused_at IS NOT NULL AND (paused_until IS NULL OR paused_until > ?)
"""

_BLOCKS = """
SELECT CAST(queue AS BLOB), blocked_until, reason FROM sqlqd_queues
WHERE queue <> '' AND blocked_until > ?1 AND blocked_until <= ?1 + ?2
"""

# Old slots are folded into one: the table is as long as two hours and the number of queues make it.
# A queue whose jobs were only cancelled has nothing to show, and may have been a slip of the pen.
_LAST_HOUR = """
SELECT CAST(queue AS BLOB), sum(iif(outcome = 'done', n, 0)),
    sum(iif(outcome IN ('failed', 'lost', 'dead'), n, 0))
FROM sqlqd_counters WHERE slot > ? AND outcome IN ('done', 'failed', 'lost', 'dead') GROUP BY queue
"""

# Of what is held after failures in a row, whatever other holds there are.
# One that began later than now met a clock that was set back, and holds nothing.
_BREAKS = """
SELECT CAST(queue AS BLOB), broken_until, failures FROM sqlqd_queues
WHERE queue <> '' AND failures > 0 AND broken_at <= ?1 AND broken_until > ?1
"""

_PROGRESS = "SELECT CAST(token AS BLOB), percent, CAST(text AS BLOB) FROM sqlqd_progress"

_HOUR = 3600

_DAEMONS = "SELECT pid, started_at, loaded_at, version, config, workers FROM sqlqd_daemons ORDER BY pid"

_WORKERS = "SELECT uid, daemon_pid, slot, pid, started_at FROM sqlqd_workers ORDER BY daemon_pid, slot"

_RUNNING_OF = """
SELECT count(*) FROM jobs INDEXED BY jobs_held WHERE locked_by IS NOT NULL AND queue = ? AND lost = 0
"""

_RUNNING_IN_ALL = "SELECT count(*) FROM jobs INDEXED BY jobs_held WHERE locked_by IS NOT NULL AND lost = 0"

# All of them at once: for each of a thousand workers the held jobs would be gone through again.
_RUNNING = """
SELECT CAST(locked_by AS BLOB), CAST(id AS BLOB), CAST(queue AS BLOB),
    iif(typeof(claimed_at) = 'real', claimed_at, NULL)
FROM jobs INDEXED BY jobs_held WHERE locked_by IS NOT NULL AND lost = 0 LIMIT ?
"""

_MOST_RUNNING = 100_000
"""Jobs under a lease that are looked through for those of our workers; other programs may hold any number."""


def overview(database: Database, configured: Iterable[str]) -> Overview:
    """Counts by queue and state, workers and daemons, read on one view of the data."""
    names = frozenset(configured)

    def look(now: Moment) -> Overview:
        held = _held(database)
        crew = _with_jobs(database, held)
        return Overview(
            now.wall,
            _queues(database, names, now.wall),
            crew,
            daemons(database),
            next((one for one in pauses.in_force(database, now.wall) if not one.queue), None),
            _orphaned(held, crew),
        )

    return database.read(look)


def running(database: Database, queue: str | None) -> int:
    """How many jobs run, of one queue or of all."""
    found = database.one(_RUNNING_OF, (queue,)) if queue is not None else database.one(_RUNNING_IN_ALL)
    return int(found[0]) if found else 0


def record(database: Database, id_or_prefix: str) -> Record | None:
    """One job with its history. Raises SeveralJobs."""
    found = database.read(lambda now: placed(database, id_or_prefix, now))
    return None if found is None else found.record


def placed(database: Database, id_or_prefix: str, now: Moment) -> Placed | None:
    """One job with its history, and where it stands. Raises SeveralJobs."""
    for place in places(database, id_or_prefix):
        for _, found in at(database, place, Selection(), now):
            whole = replace(found, history=history(database, found.id))
            if found.state is State.RUNNING:
                whole = replace(whole, progress=_progress(database).get(found.locked_by or ""))
            return Placed(place, whole)
    return None


def _queues(database: Database, configured: frozenset[str], now: float) -> tuple[QueueCount, ...]:
    counts = {name: QueueCount(name) for name in configured}

    def add(name: bytes, **facts: Any) -> None:
        text = name.decode(errors="replace")
        counts[text] = replace(counts.get(text, QueueCount(text)), **facts)

    def known(name: bytes) -> QueueCount:
        text = name.decode(errors="replace")
        return counts.get(text, QueueCount(text))

    for name, ready, scheduled, oldest in database.all(_WAITING, (now,)):
        add(name, ready=ready, scheduled=scheduled, oldest_ready_at=oldest)
    for name, running, lost, oldest in database.all(_HELD):
        times = [at for at in (known(name).oldest_ready_at, oldest) if at is not None]
        oldest_ready_at = min(times, default=None)
        add(name, running=running, ready=known(name).ready + lost, oldest_ready_at=oldest_ready_at)
    for name, dead in database.all(_DEAD):
        add(name, dead=dead)
    for name, paused_at, paused_until in database.all(_PAUSES, (now,)):
        add(name, paused_at=paused_at, paused_until=paused_until)
    for name, blocked_until, reason in database.all(_BLOCKS, (now, LONGEST_BLOCK)):
        add(name, blocked_until=blocked_until, blocked_reason=reason)
    for name, broken_until, reason in _broken(database, now):
        add(name, blocked_until=broken_until, blocked_reason=reason, broken=True)
    for name, done, failed in database.all(_LAST_HOUR, (int(now - _HOUR) // SLOT,)):
        add(name, done_last_hour=done, failed_last_hour=failed)
    return tuple(counts[name] for name in sorted(counts))


def _broken(database: Database, now: float) -> Iterator[tuple[bytes, float, str]]:
    """The queues that are held because their jobs failed one after the other, until when, and why."""
    rows = database.all(_BREAKS, (now,)) if database.schema >= WITH_POLICIES else []
    for name, until, failures in rows:
        yield name, until, f"{in_a_row(failures)}; then one job is tried"


def workers(database: Database) -> tuple[WorkerSeen, ...]:
    """The announced workers, each with the job that it holds."""
    return _with_jobs(database, _held(database))


def _held(database: Database) -> dict[Lease, list[Any]]:
    """What is under a lease, by that."""
    rows = database.all(_RUNNING, (_MOST_RUNNING,))
    return {
        Lease(job[0].decode(errors="replace"), token.decode(errors="replace")): job for token, *job in rows
    }


def _orphaned(leases: Iterable[Lease], crew: Iterable[WorkerSeen]) -> int:
    known = {worker.uid for worker in crew}
    return sum(1 for lease in leases if lease.slot and lease.uid not in known)


def _with_jobs(database: Database, leases: Mapping[Lease, list[Any]]) -> tuple[WorkerSeen, ...]:
    held = {lease.uid: job for lease, job in leases.items()}
    seen = (WorkerSeen(*row) for row in database.all(_WORKERS))
    said = {token.partition("/")[0]: one for token, one in _progress(database).items()}
    return tuple(
        replace(_with_job(worker, held[worker.uid]), progress=said.get(worker.uid))
        if worker.uid in held
        else worker
        for worker in seen
    )


def _progress(database: Database) -> dict[str, Progress]:
    """What commands say of how far they are, by the token of their claim. A row for each that runs."""
    if database.schema < WITH_PROGRESS:
        return {}
    rows = database.all(_PROGRESS)
    return {
        token.decode(errors="replace"): Progress(percent, text.decode(errors="replace"))
        for token, percent, text in rows
    }


def _with_job(worker: WorkerSeen, job: list[Any]) -> WorkerSeen:
    job_id, queue, claimed_at = job
    return replace(
        worker,
        job_id=job_id.decode(errors="replace"),
        queue=queue.decode(errors="replace"),
        claimed_at=claimed_at,
    )


def daemons(database: Database) -> tuple[DaemonSeen, ...]:
    """The announced daemons, whether they live or not."""
    return tuple(DaemonSeen(*row) for row in database.all(_DAEMONS))
