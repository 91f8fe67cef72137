"""What is in the file: clocks that disagree, leases that nobody minds, and what `status` tells."""

from collections.abc import Iterator, Sequence

from sqlqd.condition import Condition
from sqlqd.examine import Finding, note, problem
from sqlqd.model import Overview
from sqlqd.moments import local
from sqlqd.printable import printable
from sqlqd.troubles import Trouble
from sqlqd.units import spell

_STEP, _SKEW = 5.0, 60.0
"""Seconds by which a row may be ahead of the clock that sqlqd, or that somebody else, wrote."""


def schema(found: Condition, database: str) -> Iterator[Finding]:
    """Whether the file is as new as the program."""
    if found.schema < found.newest_schema:
        yield problem(
            "schema",
            f"{database} has schema {found.schema}, and this program's is {found.newest_schema}",
            "restart the daemon, which brings it up to date",
        )


def clock(found: Condition) -> Iterator[Finding]:
    """Whether the rows are of the past, and what waits for the far future."""
    written, added, distant = found.written_at, found.added_at, found.distant
    if written is not None and written > found.now + _STEP:
        yield problem(
            "clock",
            f"it is {local(found.now)} by the clock, {spell(written - found.now)} before the newest record "
            f"({local(written)}): it was set back, and what waits, waits so much longer",
            "`timedatectl`; set the clock right",
        )
    elif added is not None and added > found.now + _SKEW:
        yield note(
            "clock",
            f"a job was added {spell(added - found.now)} from now ({local(added)}) by what it says",
            "the clock was set back, or a program writes `created_at` itself: leave it to the database",
        )
    if distant is not None:
        jobs = "1 job is due" if distant.count == 1 else f"{distant.count} jobs are due"
        yield note(
            "clock",
            f"{jobs} in more than a year, the last on {local(distant.run_at)}",
            f"`sqlqd show {printable(distant.example)}`; `run_at` is in Unix seconds",
        )


def leases(found: Condition, seen: Overview, *, daemon_runs: bool) -> Iterator[Finding]:
    """Who holds jobs, of whom nobody knows. `seen` has those workers alone that live."""
    running = sum(queue.running for queue in seen.queues)
    others = running - sum(1 for worker in seen.workers if worker.job_id is not None)
    if found.overdue and daemon_runs:
        yield problem(
            "leases",
            f"{_jobs(found.overdue)} held by a lease that is long over and was not ended: what runs for it "
            "cannot be killed, or the daemon cannot write",
            "`journalctl -t sqlqd -p warning`, `sqlqd list --state running`",
        )
    elif others > 0 and not daemon_runs:
        yield note(
            "leases",
            f"{_jobs(others)} held by workers that are gone, or by other programs",
            "a daemon that starts gives them out anew once their leases are over",
        )
    elif others > 0:
        yield note(
            "leases",
            f"{_jobs(others)} held by other programs, or by a worker that just died",
            "each is free again when its lease is over, within a day at the latest: `sqlqd why ID`",
        )


def at_a_glance(found: Sequence[Trouble]) -> Iterator[Finding]:
    """What `status` tells of queues and daemons."""
    for one in found:
        yield (problem if one.grave else note)("jobs", one.text, one.remedy)


def _jobs(count: int) -> str:
    return "1 job is" if count == 1 else f"{count} jobs are"
