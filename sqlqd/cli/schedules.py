"""`sqlqd schedules` and `sqlqd trigger`: jobs that are added by the clock."""

from typing import Any

import click

from sqlqd.cli import complete, values
from sqlqd.cli.failure import Refused, tell
from sqlqd.cli.output import Output
from sqlqd.cli.records import fit
from sqlqd.cli.session import Session, unknown
from sqlqd.clock import SystemClock
from sqlqd.moments import beside, iso, local
from sqlqd.timetable import Past, Schedule, decide

_NAME, _QUEUE, _WHEN = 20, 16, 17


@click.command(short_help="Show what is added by the clock, and when next.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def schedules(session: Session, *, as_json: bool) -> None:
    """Show each schedule: when it is due next, and when it last was. Times are local.

    Example: sqlqd schedules
    """
    now = SystemClock().wall()
    known = session.config.schedules
    with session.store() as store:
        rows = [(schedule, store.schedule_past(schedule)) for schedule in known.values()]
    with Output() as output:
        if as_json:
            output.json({"schedules": [_document(schedule, past, now) for schedule, past in rows]})
            return
        output.line(f"{'SCHEDULE':{_NAME}}  {'QUEUE':{_QUEUE}}  {'NEXT':19}  {'':{_WHEN}}  LAST")
        for schedule, past in rows:
            output.line(_line(schedule, past, now))
        if not rows:
            tell("the configuration has no [schedules.NAME]")


def _next(schedule: Schedule, past: Past | None, now: float) -> float | None:
    """What the daemon would say: a time that passed while none ran is due at its next start."""
    if past is not None and past.next_at <= now:
        return past.next_at
    return decide(schedule, past, now).next_at


def _line(schedule: Schedule, past: Past | None, now: float) -> str:
    at = _next(schedule, past, now)
    last = None if past is None else past.last_at
    told = "never" if at is None else local(at)
    apart = "" if at is None else beside(at, now) if at > now else "when a daemon runs"
    return (
        f"{fit(schedule.name, _NAME):{_NAME}}  {fit(schedule.queue, _QUEUE):{_QUEUE}}  {told:19}  "
        f"{apart:{_WHEN}}  {'never' if last is None else local(last)}"
    ).rstrip()


def _document(schedule: Schedule, past: Past | None, now: float) -> dict[str, Any]:
    at, last = _next(schedule, past, now), None if past is None else past.last_at
    return {
        "name": schedule.name,
        "queue": schedule.queue,
        "spec": schedule.spec,
        "missed": schedule.missed.value,
        "overlap": schedule.overlap,
        "next_at": at,
        "next_at_iso": None if at is None else iso(at),
        "last_at": last,
        "last_at_iso": None if last is None else iso(last),
    }


@click.command(short_help="Add a schedule's job now.")
@click.argument("name", callback=values.text, shell_complete=complete.schedules)
@click.option("--json", "as_json", is_flag=True, help='Print {"id": …, "created": …}.')
@click.pass_obj
def trigger(session: Session, *, name: str, as_json: bool) -> None:
    """Add a schedule's job now, beside its times, and print its id.

    Without overlap, while its last job waits or runs, that one's id is printed and none is added.

    Example: sqlqd trigger nightly-report
    """
    known = session.config.schedules
    if name not in known:
        raise Refused(unknown(name, known, "schedule"))
    with session.store(create=True) as store:
        (added,) = store.enqueue([known[name].job_now(SystemClock().wall())])
    with Output() as output:
        if as_json:
            output.json({"id": added.id, "created": added.created})
        else:
            output.line(added.id)
