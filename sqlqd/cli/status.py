"""`sqlqd status`: queues, workers and daemon at a glance."""

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import click

from sqlqd import exits, mounts
from sqlqd.cli import daemons, dashboard, values
from sqlqd.cli.colour import Paint, wanted
from sqlqd.cli.dashboard import Sight
from sqlqd.cli.failure import Refused
from sqlqd.cli.output import Output
from sqlqd.cli.records import progress_document
from sqlqd.cli.session import Session
from sqlqd.config import Config
from sqlqd.config.places import start
from sqlqd.model import Overview, Pause, QueueCount, WorkerSeen
from sqlqd.moments import iso
from sqlqd.troubles import troubles

_STANDARD_OUTPUT = 1
_SHORTEST, _LONGEST = 0.2, 3600.0
"""Seconds between two looks of --watch."""


@click.command(short_help="Show queues, workers and daemon, and whether all is well.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.option("--watch", is_flag=True, help="Show it anew all the time, until Ctrl-C.")
@click.option(
    "--interval", callback=values.duration, metavar="DUR", help="With --watch: so often; default 2s."
)
@click.pass_obj
def status(session: Session, *, as_json: bool, watch: bool, interval: float | None) -> int:
    """Show whether all is well, counts by queue and state, what the workers run, and the daemon.

    OLDEST is how long the longest waiting ready job has been due; DONE/1H and FAIL/1H are the attempts of
    the last hour.

    Example: sqlqd status --watch
    """
    if not watch:
        if interval is not None:
            raise Refused("--interval goes with --watch")
        sight = look(session)
        with Output() as output:
            if as_json:
                output.json(_document(sight))
            else:
                paint = Paint(wanted=wanted(_STANDARD_OUTPUT, os.environ))
                for line in dashboard.lines(sight, paint):
                    output.line(line)
        return exits.OK
    if as_json or not os.isatty(_STANDARD_OUTPUT):
        raise Refused("--watch draws on a terminal; programs ask again and again by `sqlqd status --json`")
    every = 2.0 if interval is None else interval
    if not _SHORTEST <= every <= _LONGEST:
        raise Refused("--interval is from 0.2s to 1h")
    look(session)
    from sqlqd.cli.watch import watch as keep_drawing  # noqa: PLC0415 - few ask for it

    return keep_drawing(lambda paint: dashboard.lines(look(_anew(session)), paint), every)


def _anew(session: Session) -> Session:
    """The same as if it began now: a configuration that was changed meanwhile is read again."""
    fresh = Session()
    fresh.chosen |= session.chosen
    fresh.knows = session.knows
    return fresh


def look(session: Session) -> Sight:
    """Everything as it is now. Raises StoreError, ConfigError, OSError."""
    config = session.config
    with session.store() as store:
        overview = store.overview(config.queues)
    alive = daemons.living(config.daemon.database)
    overview = replace(
        overview,
        workers=tuple(one for one in overview.workers if one.daemon_pid in alive.pids),
        daemons=tuple(one for one in overview.daemons if one.pid in alive.pids),
    )
    living = daemons.at_work(config, alive, overview.daemons)
    begin = start(config.path, os.environ)
    room = mounts.room_at(config.daemon.database.parent)
    found = troubles(overview, living, config.queues, str(config.path), begin, room=room)
    return Sight(config, overview, living, found)


def _document(sight: Sight) -> dict[str, Any]:
    overview = sight.overview
    return {
        "daemon": _daemon(sight),
        "queues": [_queue(sight.config, queue, overview) for queue in overview.queues],
        "workers": [_worker(worker, overview.now) for worker in overview.workers],
    }


def _daemon(sight: Sight) -> dict[str, Any]:
    config, now = sight.config, sight.overview.now
    newest = max(sight.overview.daemons, key=lambda each: each.started_at, default=None)
    pids = sorted(one.pid for one in sight.daemons)
    chosen = next((one for one in sight.daemons if newest is None or one.pid == newest.pid), None)
    pause = sight.overview.pause
    document: dict[str, Any] = {
        "running": bool(pids),
        "pid": chosen.pid if chosen else None,
        "pids": pids,
        "stage": chosen.stage.value if chosen else None,
        "version": newest.version if newest else None,
        "config": newest.config if newest else str(config.path),
        "database": str(config.daemon.database),
        "loaded_at": newest.loaded_at if newest else None,
        "config_changed": chosen.outdated if newest and chosen else None,
        "started_at": newest.started_at if newest else None,
        "up_seconds": max(0.0, now - newest.started_at) if newest else None,
        "workers": newest.workers if newest else None,
        "paused": pause is not None,
        "paused_until": pause.until if pause else None,
        "well": not any(one.grave for one in sight.troubles),
        "troubles": [one.sentence for one in sight.troubles],
    }
    return _with_iso(document, ("loaded_at", "started_at", "paused_until"))


def _queue(config: Config, queue: QueueCount, overview: Overview) -> dict[str, Any]:
    now = overview.now
    pauses = [] if queue.paused_at is None else [Pause(queue.name, queue.paused_at, queue.paused_until)]
    if overview.pause is not None:
        pauses.append(overview.pause)
    ends = [pause.until for pause in pauses if pause.until is not None]
    document: dict[str, Any] = {
        "name": queue.name,
        "configured": queue.name in config.queues,
        "ready": queue.ready,
        "scheduled": queue.scheduled,
        "running": queue.running,
        "dead": queue.dead,
        "paused": bool(pauses),
        "paused_at": min((pause.since for pause in pauses), default=None),
        "paused_until": max(ends) if ends and len(ends) == len(pauses) else None,
        "blocked": queue.blocked_until is not None,
        "blocked_until": queue.blocked_until,
        "blocked_reason": queue.blocked_reason,
        "oldest_ready_seconds": _age(queue.oldest_ready_at, now),
        "done_last_hour": queue.done_last_hour,
        "failed_last_hour": queue.failed_last_hour,
    }
    return _with_iso(document, ("paused_at", "paused_until", "blocked_until"))


def _worker(worker: WorkerSeen, now: float) -> dict[str, Any]:
    return {
        "pid": worker.pid,
        "slot": worker.slot,
        "daemon_pid": worker.daemon_pid,
        "job_id": worker.job_id,
        "queue": worker.queue,
        "running_seconds": _age(worker.claimed_at, now),
        "progress": progress_document(worker.progress),
    }


def _age(since: float | None, now: float) -> float | None:
    return None if since is None else max(0.0, now - since)


def _with_iso(document: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """With each of these moments for people beside the number."""
    for name in names:
        value = document[name]
        document[f"{name}_iso"] = None if value is None else iso(value)
    return document
