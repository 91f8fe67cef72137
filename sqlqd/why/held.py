"""Jobs that somebody holds."""

from collections.abc import Iterator, Sequence

from sqlqd.circumstances import Circumstances, DaemonNow, Held
from sqlqd.model import Ask, Lease, WorkerSeen
from sqlqd.printable import printable
from sqlqd.units import spell
from sqlqd.why.reason import Numbers, Reason, at, no_daemon, said


def held_up(seen: Circumstances, held: Held, daemons: Sequence[DaemonNow], start: str) -> Iterator[Reason]:
    """What is the matter with a job under a lease: mostly that it runs."""
    alive = {daemon.pid for daemon in daemons}
    lease = Lease(seen.job.id, held.token)
    worker = next((one for one in seen.workers if one.uid == lease.uid and one.daemon_pid in alive), None)
    if held.left is None or held.left <= 0 or held.earlier_boot:
        yield _over(held)
    elif held.asked is not None:
        yield _ending(seen, held.asked, _who(lease, worker))
    elif worker is not None:
        yield _running(seen, held, worker)
    else:
        yield _elsewhere(seen, held, lease)
        if not lease.slot:
            # Another program's: it needs no daemon.
            return
    if not alive:
        yield no_daemon(start)


def _over(held: Held) -> Reason:
    if held.earlier_boot or held.left is None:
        boot = "is of an earlier boot of this machine, or of the database that this is a copy of"
        since = boot if held.earlier_boot else "makes no sense"
        return Reason("lease_over", f"its lease {since}: the daemon takes the job back at its next look")
    clause = (
        f"its lease is over since {spell(-held.left)} without having been renewed: the daemon ends what "
        "still runs for it, then it is given out again"
    )
    return Reason("lease_over", clause, {"over_seconds": -held.left})


def _running(seen: Circumstances, held: Held, worker: WorkerSeen) -> Reason:
    job, left = seen.job, held.left or 0.0
    since = "" if job.claimed_at is None else f" since {at(job.claimed_at, seen.now)}"
    clause = (
        f"it runs{since}: worker {worker.slot} (pid {worker.pid}) is at attempt {job.attempts}, under a "
        f"lease until {at(seen.now + left, seen.now)} that it renews"
    )
    numbers: Numbers = {"worker": worker.slot, "pid": worker.pid, "attempt": job.attempts}
    numbers |= {"claimed_at": job.claimed_at, "lease_seconds": left}
    if job.claimed_at is not None:
        numbers["running_seconds"] = max(0.0, seen.now - job.claimed_at)
    return Reason("running", clause, numbers)


def _ending(seen: Circumstances, ask: Ask, who: str) -> Reason:
    match ask:
        case Ask.KILL:
            then = "kill this attempt: then its queue's settings decide whether it is tried again"
        case Ask.BURY:
            then = "kill it for good: then it goes to the dead jobs"
        case Ask.CANCEL:
            then = "cancel it: then it is gone"
    clause = f"it is being ended, since somebody asked to {then}; until all of it has ended {who} has it"
    return Reason("ending", clause, {"asked": ask.value, "claimed_at": seen.job.claimed_at})


def _elsewhere(seen: Circumstances, held: Held, lease: Lease) -> Reason:
    left = held.left or 0.0
    until = at(seen.now + left, seen.now)
    numbers: Numbers = {"token": printable(held.token), "lease_seconds": left}
    if lease.slot:
        clause = (
            f"it is under a lease of {_who(lease, None)}, which is gone, until {until}; then it can be "
            "taken over"
        )
        return Reason("holder_gone", clause, {"worker": lease.slot, **numbers})
    return Reason("held_elsewhere", f"{_who(lease, None)} holds it under a lease until {until}", numbers)


def _who(lease: Lease, worker: WorkerSeen | None) -> str:
    if worker is not None:
        return f"worker {worker.slot} (pid {worker.pid})"
    pid = lease.token.split("/")[2] if lease.slot is not None else ""
    if lease.slot is None:
        return f"another program ({said(lease.token)})"
    named = f" (pid {pid})" if pid.isdecimal() else ""
    return f"worker {lease.slot}{named}" if lease.slot else f"a program of its own{named}"
