"""`sqlqd status`: queues, workers and daemon at a glance."""

from typing import Any

import click

from sqlqd.cli.output import Output
from sqlqd.cli.records import WIDTH, fit
from sqlqd.cli.session import Session
from sqlqd.config import Config
from sqlqd.model import DaemonSeen, Overview, QueueCount, WorkerSeen
from sqlqd.moments import iso, local
from sqlqd.presence import living
from sqlqd.printable import printable
from sqlqd.units import spell

_NAME = 24
_NOTE = WIDTH - _NAME - 4 * 11
_ID = 12


@click.command(short_help="Show counts by queue, the workers and the daemon.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def status(session: Session, *, as_json: bool) -> None:
    """Show counts by queue and state, workers and what they run, and the daemon."""
    config = session.config
    with session.store() as store:
        overview = store.overview(config.queues)
    alive = living(config.daemon.database)
    daemons = sorted(
        (each for each in overview.daemons if each.pid in alive), key=lambda each: -each.started_at
    )
    workers = [each for each in overview.workers if each.daemon_pid in alive]
    with Output() as output:
        if as_json:
            output.json(_document(config, overview, alive, daemons, workers))
            return
        for line in (
            *_daemon_lines(config, alive, daemons),
            "",
            *_queue_lines(config, overview),
            *_worker_lines(overview, workers),
        ):
            output.line(line)


def _document(
    config: Config, overview: Overview, alive: list[int], daemons: list[DaemonSeen], workers: list[WorkerSeen]
) -> dict[str, Any]:
    daemon = daemons[0] if daemons else None
    return {
        "daemon": {
            "running": bool(alive),
            "pid": daemon.pid if daemon else next(iter(alive), None),
            "pids": alive,
            "version": daemon.version if daemon else None,
            "config": daemon.config if daemon else str(config.path),
            "database": str(config.daemon.database),
            "loaded_at": daemon.loaded_at if daemon else None,
            "loaded_at_iso": iso(daemon.loaded_at) if daemon else None,
            "config_changed": _is_outdated(config, daemon) if daemon else None,
            "started_at": daemon.started_at if daemon else None,
            "started_at_iso": iso(daemon.started_at) if daemon else None,
            "workers": daemon.workers if daemon else None,
        },
        "queues": [_queue_document(config, queue, overview.now) for queue in overview.queues],
        "workers": [_worker_document(worker, overview.now) for worker in workers],
    }


def _queue_document(config: Config, queue: QueueCount, now: float) -> dict[str, Any]:
    held = queue.blocked_until is not None and queue.blocked_until > now
    return {
        "name": queue.name,
        "configured": queue.name in config.queues,
        "ready": queue.ready,
        "scheduled": queue.scheduled,
        "running": queue.running,
        "dead": queue.dead,
        "paused": queue.paused_at is not None,
        "paused_until": queue.paused_until,
        "paused_until_iso": iso(queue.paused_until) if queue.paused_until is not None else None,
        "blocked": held,
        "blocked_reason": queue.blocked_reason if held else None,
        "oldest_ready_seconds": _age(queue.oldest_ready_at, now),
    }


def _worker_document(worker: WorkerSeen, now: float) -> dict[str, Any]:
    return {
        "pid": worker.pid,
        "slot": worker.slot,
        "daemon_pid": worker.daemon_pid,
        "job_id": worker.job_id,
        "queue": worker.queue,
        "running_seconds": _age(worker.claimed_at, now),
    }


def _age(since: float | None, now: float) -> float | None:
    return None if since is None else max(0.0, now - since)


def _daemon_lines(config: Config, alive: list[int], daemons: list[DaemonSeen]) -> list[str]:
    lines = [
        f"daemon    pid {each.pid}, version {printable(each.version)}, {each.workers} workers, "
        f"since {local(each.started_at)}"
        for each in daemons
    ]
    lines += [f"daemon    pid {pid}, starting" for pid in alive if pid not in {each.pid for each in daemons}]
    lines += [
        f"          uses another configuration: {printable(each.config)}"
        for each in daemons
        if each.config != str(config.path)
    ]
    lines += [
        f"          pid {each.pid} has not loaded this configuration: reload it by `kill -HUP {each.pid}`"
        for each in daemons
        if _is_outdated(config, each)
    ]
    return [
        *(lines or ["daemon    not running"]),
        f"config    {printable(str(config.path))}",
        f"database  {printable(str(config.daemon.database))}",
    ]


def _is_outdated(config: Config, daemon: DaemonSeen) -> bool:
    """Whether the file was changed since the daemon loaded it, or tried to and went on by the old one."""
    return daemon.config == str(config.path) and daemon.loaded_at < config.path.stat().st_mtime


def _queue_lines(config: Config, overview: Overview) -> list[str]:
    lines = [f"{'QUEUE':{_NAME}}{'READY':>11}{'SCHEDULED':>11}{'RUNNING':>11}{'DEAD':>11}"]
    for queue in overview.queues:
        lines.append(
            f"{fit(queue.name, _NAME):{_NAME}}"
            f"{queue.ready:>11}{queue.scheduled:>11}{queue.running:>11}{queue.dead:>11}"
        )
        lines += [f"  {fit(note, WIDTH - 2)}" for note in _notes(config, queue, overview.now)]
    return lines


def _notes(config: Config, queue: QueueCount, now: float) -> list[str]:
    notes: list[str] = []
    if queue.name not in config.queues:
        notes.append("not configured: its jobs wait")
    if queue.paused_at is not None:
        end = "" if queue.paused_until is None else f" until {local(queue.paused_until)}"
        notes.append(f"paused{end}")
    if queue.blocked_until is not None and queue.blocked_until > now:
        notes.append(f"held for {spell(queue.blocked_until - now)}: {queue.blocked_reason}")
        notes.append(f"once that is mended: sqlqd retry --queue {queue.name}")
    waited = _age(queue.oldest_ready_at, now)
    if waited is not None and waited >= 1:
        notes.append(f"the oldest ready job waits for {spell(waited)}")
    return notes


def _worker_lines(overview: Overview, workers: list[WorkerSeen]) -> list[str]:
    if not workers:
        return []
    lines = ["", f"{'WORKER':>6}  {'PID':>8}  {'JOB':{_ID}}  {'FOR':>10}  QUEUE"]
    for worker in sorted(workers, key=lambda each: (each.daemon_pid, each.slot)):
        since = _age(worker.claimed_at, overview.now)
        job = "idle" if worker.job_id is None else fit(worker.job_id[:_ID], _ID)
        line = (
            f"{worker.slot:>6}  {worker.pid:>8}  {job:{_ID}}  {'' if since is None else spell(since):>10}  "
        )
        lines.append((line + fit(worker.queue or "", WIDTH - len(line))).rstrip())
    return lines
