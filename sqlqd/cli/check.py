"""`sqlqd check`: what is in force, when queues give up, and what will hurt."""

import math
import os
import random
from pathlib import Path
from typing import Any

import click

from sqlqd.account import absent, acting_as, named
from sqlqd.cli import confined, promises, startable
from sqlqd.cli.output import Output
from sqlqd.cli.session import Session
from sqlqd.cli.viewpoint import Viewpoint, viewpoint
from sqlqd.clock import SystemClock
from sqlqd.config import Config, Queue
from sqlqd.model import Backoff
from sqlqd.policy import backoff
from sqlqd.printable import printable
from sqlqd.store.library import is_safe, version
from sqlqd.units import spell, spell_size


@click.command(short_help="Validate the configuration and say what is in force.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def check(session: Session, *, as_json: bool) -> None:
    """Validate the configuration, print what is in force, and warn of what will hurt.

    Files are looked at as the user who asks; where root asks, as the daemon's user.

    Example: sqlqd check && systemctl reload sqlqd
    """
    config = session.load(absent)
    standing = confined.standing(config)
    view = viewpoint(config)
    warnings = _warnings(config, standing, view)
    with Output() as output:
        if as_json:
            output.json(_document(config, standing, view, warnings))
            return
        for line in _lines(config, view):
            output.line(line)
        for warning in warnings:
            output.line(f"warning: {printable(warning)}")


def gives_up_after(rule: Backoff, max_attempts: int) -> float:
    """Seconds of pauses, chance left out, from a job's first failure to its last."""
    total = 0.0
    even = rule._replace(jitter=0.0)
    for failures in range(1, max_attempts):
        pause = backoff(even, failures, random.Random())  # noqa: S311 - without jitter nothing is drawn by lot
        if pause >= rule.max or rule.factor <= 1.0:
            return total + pause * (max_attempts - failures)
        total += pause
    return total


def _lines(config: Config, view: Viewpoint) -> list[str]:
    daemon = config.daemon
    lines = [
        f"{printable(str(config.path))} is in order",
        "",
        f"database   {printable(str(daemon.database))}",
        f"user       {view.told}",
        f"SQLite     {version()}",
        f"workers    {daemon.workers}",
        f"stop       waits {spell(daemon.drain_timeout)} for running commands",
        f"locks      waits {spell(daemon.busy_timeout)} for a locked database",
        f"log        {daemon.log_level}, {daemon.log_format}",
    ]
    for queue in config.queues.values():
        lines += ["", f"queue {printable(queue.name)}"]
        lines += [f"  {name:<11}{value}" for name, value in _facts(config, queue)]
    if config.schedules:
        lines += ["", *promises.schedules(config, SystemClock().wall())]
    return [*lines, ""] if config.queues else [*lines, "", "no queues"]


def _facts(config: Config, queue: Queue) -> list[tuple[str, str]]:
    shell = isinstance(queue.command, str)
    words = queue.command if isinstance(queue.command, str) else " ".join(queue.command)
    at_once = min(queue.concurrency or config.daemon.workers, config.daemon.workers)
    limit = "none" if queue.timeout == float("inf") else f"{spell(queue.timeout)}, then SIGTERM"
    return [
        ("command", f"{printable(words)} ({'by /bin/sh' if shell else 'without a shell'})"),
        ("in", printable(str(queue.cwd))),
        *([("as", printable(queue.user))] if queue.user else []),
        *([("with", ", ".join(printable(name) for name in queue.env))] if queue.env else []),
        *([("secrets", f"from {printable(str(queue.env_file))}")] if queue.env_file else []),
        ("at once", f"{at_once} of {config.daemon.workers} workers"),
        ("time limit", f"{limit}; SIGKILL {spell(queue.kill_grace)} after SIGTERM"),
        *([("limits", f"at most {told}")] if (told := confined.told(queue)) else []),
        ("lease", spell(queue.lease)),
        *_attempts(queue),
        ("payload", _payload(queue)),
        *([] if queue.log_output else [("output", "not in the log")]),
        ("done jobs", f"recorded for {spell(queue.keep_done)}" if queue.keep_done else "not recorded"),
        ("dead jobs", "kept" if math.isinf(queue.keep_dead) else f"kept for {spell(queue.keep_dead)}"),
        *promises.told(queue),
        ("on a stop", f"has {spell(queue.drain_timeout)} to end"),
    ]


def _payload(queue: Queue) -> str:
    way = "" if queue.payload_env else ", by standard input alone"
    return f"{'JSON' if queue.json else 'text'}, at most {spell_size(queue.max_payload)}{way}"


def _attempts(queue: Queue) -> list[tuple[str, str]]:
    if queue.max_attempts == 1:
        return [("attempts", "1: the first failure is the last")]
    rule = queue.backoff
    end = spell(gives_up_after(rule, queue.max_attempts))
    crashes = f"at most {queue.max_crashes} crash{'' if queue.max_crashes == 1 else 'es'}"
    chance = f", give or take {rule.jitter:.0%}" if rule.jitter else ""
    pauses = f"{spell(rule.initial)}, each {rule.factor:g} times the last, at most {spell(rule.max)}{chance}"
    return [
        ("attempts", f"{queue.max_attempts}, and {crashes}; gives up after about {end}"),
        ("pauses", pauses),
    ]


def _document(
    config: Config, standing: confined.Standing, view: Viewpoint, warnings: list[str]
) -> dict[str, Any]:
    """The same for programs; never what `env` sets."""
    daemon = config.daemon
    return {
        "config": str(config.path),
        "database": str(daemon.database),
        "uid": view.uid,
        "sqlite": version(),
        "workers": daemon.workers,
        "drain_timeout_seconds": _finite(daemon.drain_timeout),
        "busy_timeout_seconds": daemon.busy_timeout,
        "log_level": daemon.log_level,
        "log_format": daemon.log_format,
        "queues": [
            {
                "name": queue.name,
                "command": queue.command if isinstance(queue.command, str) else list(queue.command),
                "cwd": str(queue.cwd),
                "user": queue.user,
                "concurrency": queue.concurrency,
                "lease_seconds": queue.lease,
                "timeout_seconds": _finite(queue.timeout),
                "kill_grace_seconds": queue.kill_grace,
                "max_attempts": queue.max_attempts,
                "max_crashes": queue.max_crashes,
                "backoff": _backoff(queue.backoff),
                "gives_up_after_seconds": gives_up_after(queue.backoff, queue.max_attempts),
                "payload": "json" if queue.json else "text",
                "max_payload": queue.max_payload,
                "payload_env": queue.payload_env,
                "log_output": queue.log_output,
                "keep_done_seconds": queue.keep_done,
                "keep_dead_seconds": _finite(queue.keep_dead),
                "drain_timeout_seconds": _finite(queue.drain_timeout),
                "memory_max": queue.memory_max,
                "cpu_quota": queue.cpu_quota,
                "tasks_max": queue.tasks_max,
                **promises.document(queue),
                "limits_in_force": confined.in_force(queue, standing),
                "env": sorted(queue.env),
                "env_file": str(queue.env_file) if queue.env_file else None,
            }
            for queue in config.queues.values()
        ],
        "schedules": [promises.schedule_document(one) for one in config.schedules.values()],
        "warnings": warnings,
    }


def _backoff(rule: Backoff) -> dict[str, float]:
    return {
        "initial_seconds": rule.initial,
        "factor": rule.factor,
        "max_seconds": rule.max,
        "jitter": rule.jitter,
    }


def _finite(seconds: float) -> float | None:
    """JSON has no infinity: no limit is null."""
    return None if seconds == float("inf") else seconds


def _warnings(config: Config, standing: confined.Standing, view: Viewpoint) -> list[str]:
    warnings: list[str] = []
    if not is_safe(version()):
        warnings.append(f"SQLite {version()} can lose what was committed; use 3.51.3 or later")
    with acting_as(view.eyes):
        warnings += _unwritable(config.daemon.database.parent)
    if not config.queues:
        warnings.append("no queue is configured: nothing will run")
    for queue in config.queues.values():
        texts = [*_queue_warnings(queue, view), *confined.warnings(queue, standing)]
        warnings += [f"queue {queue.name}: {text}" for text in texts]
    return warnings + _takes_all(config)


def _unwritable(directory: Path) -> list[str]:
    try:
        there = directory.is_dir()
    except PermissionError:
        there = True
    if not there:
        return [f"the database's directory {directory} does not exist; sqlqd does not make it"]
    if not os.access(directory, os.W_OK | os.X_OK, effective_ids=True):
        return [f"{named(os.geteuid())} may not write in the database's directory {directory}"]
    return []


def _queue_warnings(queue: Queue, view: Viewpoint) -> list[str]:
    warnings: list[str] = []
    if queue.timeout == float("inf"):
        warnings.append("no timeout: a command that hangs holds its worker for ever")
    return warnings + startable.warnings(queue, view)


def _takes_all(config: Config) -> list[str]:
    """Queues that may leave no worker for the others."""
    most = config.daemon.workers
    names = [name for name, q in config.queues.items() if q.concurrency is None or q.concurrency >= most]
    if not names or len(config.queues) == 1:
        return []
    if most == 1:
        return [
            "one worker for all: a long job of one queue keeps the others waiting; more `workers` end that"
        ]
    whom = f"queue {names[0]}: it" if len(names) == 1 else f"queues {', '.join(names)}: each"
    return [f"{whom} can take every worker; a concurrency below {most} keeps some free"]
