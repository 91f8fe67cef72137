"""`sqlqd check`: what is in force, when queues give up, and what will hurt."""

import math
import os
import pwd
import random
import re
import shutil
import stat
from dataclasses import replace
from typing import Any

import click

from sqlqd.cli import confined
from sqlqd.cli.output import Output
from sqlqd.cli.session import Session
from sqlqd.command import envfile
from sqlqd.command.launch import missing
from sqlqd.config import Config, Queue
from sqlqd.model import Backoff
from sqlqd.policy import backoff
from sqlqd.printable import printable
from sqlqd.store.library import is_safe, version
from sqlqd.units import spell, spell_size

_PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
"""A word of a shell's line that names nothing but a program, where it is none of the shell's own."""

_SHELLS_OWN = frozenset(
    {
        *("alias", "bg", "break", "case", "cd", "command", "continue", "echo", "eval"),
        *("exec", "exit", "export", "false", "fg", "for", "getopts", "hash", "if"),
        *("jobs", "kill", "local", "printf", "pwd", "read", "readonly", "return", "set"),
        *("shift", "test", "time", "times", "trap", "true", "type", "ulimit", "umask"),
        *("unalias", "unset", "until", "wait", "while"),
    }
)


@click.command(short_help="Validate the configuration and say what is in force.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def check(session: Session, *, as_json: bool) -> None:
    """Validate the configuration, print what is in force, and warn of what will hurt.

    Commands are looked for as the user who asks: run it as the daemon's user.
    """
    config = session.config
    standing = confined.standing(config)
    warnings = _warnings(config, standing)
    with Output() as output:
        if as_json:
            output.json(_document(config, standing, warnings))
            return
        for line in _lines(config):
            output.line(line)
        for warning in warnings:
            output.line(f"warning: {printable(warning)}")


def gives_up_after(rule: Backoff, max_attempts: int) -> float:
    """Seconds of pauses, chance left out, from a job's first failure to its last."""
    total = 0.0
    even = replace(rule, jitter=0.0)
    for failures in range(1, max_attempts):
        pause = backoff(even, failures, random.Random())  # noqa: S311 - without jitter nothing is drawn by lot
        if pause >= rule.max or rule.factor <= 1.0:
            return total + pause * (max_attempts - failures)
        total += pause
    return total


def _user() -> str:
    uid = os.geteuid()
    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


def _lines(config: Config) -> list[str]:
    daemon = config.daemon
    lines = [
        f"{printable(str(config.path))} is in order",
        "",
        f"database   {printable(str(daemon.database))}",
        f"user       {_user()}",
        f"SQLite     {version()}",
        f"workers    {daemon.workers}",
        f"stop       waits {spell(daemon.drain_timeout)} for running commands",
        f"locks      waits {spell(daemon.busy_timeout)} for a locked database",
        f"log        {daemon.log_level}, {daemon.log_format}",
    ]
    for queue in config.queues.values():
        lines += ["", f"queue {printable(queue.name)}"]
        lines += [f"  {name:<11}{value}" for name, value in _facts(config, queue)]
    return [*lines, ""] if config.queues else [*lines, "", "no queues"]


def _facts(config: Config, queue: Queue) -> list[tuple[str, str]]:
    shell = isinstance(queue.command, str)
    words = queue.command if isinstance(queue.command, str) else " ".join(queue.command)
    at_once = min(queue.concurrency or config.daemon.workers, config.daemon.workers)
    rule = queue.backoff
    end = spell(gives_up_after(rule, queue.max_attempts))
    limit = "none" if queue.timeout == float("inf") else f"{spell(queue.timeout)}, then SIGTERM"
    return [
        ("command", f"{printable(words)} ({'by /bin/sh' if shell else 'without a shell'})"),
        ("in", printable(str(queue.cwd))),
        *([("with", ", ".join(printable(name) for name in queue.env))] if queue.env else []),
        *([("secrets", f"from {printable(str(queue.env_file))}")] if queue.env_file else []),
        ("at once", f"{at_once} of {config.daemon.workers} workers"),
        ("time limit", f"{limit}; SIGKILL {spell(queue.kill_grace)} after SIGTERM"),
        *([("limits", f"at most {told}")] if (told := confined.told(queue)) else []),
        ("lease", spell(queue.lease)),
        (
            "attempts",
            f"{queue.max_attempts}, and at most {queue.max_crashes} crashes; gives up after about {end}",
        ),
        ("pauses", f"{spell(rule.initial)}, each {rule.factor:g} times the last, at most {spell(rule.max)}"),
        ("payload", f"{'JSON' if queue.json else 'text'}, at most {spell_size(queue.max_payload)}"),
        ("done jobs", f"recorded for {spell(queue.keep_done)}" if queue.keep_done else "not recorded"),
        ("dead jobs", "kept" if math.isinf(queue.keep_dead) else f"kept for {spell(queue.keep_dead)}"),
        ("on a stop", f"has {spell(queue.drain_timeout)} to end"),
    ]


def _document(config: Config, standing: confined.Standing, warnings: list[str]) -> dict[str, Any]:
    """The same for programs; never what `env` sets."""
    daemon = config.daemon
    return {
        "config": str(config.path),
        "database": str(daemon.database),
        "uid": os.geteuid(),
        "sqlite": version(),
        "workers": daemon.workers,
        "drain_timeout_seconds": _finite(daemon.drain_timeout),
        "busy_timeout_seconds": daemon.busy_timeout,
        "queues": [
            {
                "name": queue.name,
                "command": queue.command if isinstance(queue.command, str) else list(queue.command),
                "cwd": str(queue.cwd),
                "concurrency": queue.concurrency,
                "lease_seconds": queue.lease,
                "timeout_seconds": _finite(queue.timeout),
                "kill_grace_seconds": queue.kill_grace,
                "max_attempts": queue.max_attempts,
                "max_crashes": queue.max_crashes,
                "gives_up_after_seconds": gives_up_after(queue.backoff, queue.max_attempts),
                "payload": "json" if queue.json else "text",
                "max_payload": queue.max_payload,
                "keep_done_seconds": queue.keep_done,
                "keep_dead_seconds": _finite(queue.keep_dead),
                "drain_timeout_seconds": _finite(queue.drain_timeout),
                "memory_max": queue.memory_max,
                "cpu_quota": queue.cpu_quota,
                "tasks_max": queue.tasks_max,
                "limits_in_force": confined.in_force(queue, standing),
                "env": sorted(queue.env),
                "env_file": str(queue.env_file) if queue.env_file else None,
            }
            for queue in config.queues.values()
        ],
        "warnings": warnings,
    }


def _finite(seconds: float) -> float | None:
    """JSON has no infinity: no limit is null."""
    return None if seconds == float("inf") else seconds


def _warnings(config: Config, standing: confined.Standing) -> list[str]:
    warnings: list[str] = []
    if not is_safe(version()):
        warnings.append(f"SQLite {version()} can lose what was committed; use 3.51.3 or later")
    directory = config.daemon.database.parent
    if not directory.is_dir():
        warnings.append(f"the database's directory {directory} does not exist; sqlqd does not make it")
    elif not os.access(directory, os.W_OK | os.X_OK):
        warnings.append(f"this user may not write in the database's directory {directory}")
    if not config.queues:
        warnings.append("no queue is configured: nothing will run")
    for queue in config.queues.values():
        texts = [*_queue_warnings(queue), *confined.warnings(queue, standing)]
        warnings += [f"queue {queue.name}: {text}" for text in texts]
    return warnings + _takes_all(config)


def _queue_warnings(queue: Queue) -> list[str]:
    warnings: list[str] = []
    if queue.timeout == float("inf"):
        warnings.append("no timeout: a command that hangs holds its worker for ever")
    if not queue.cwd.is_dir():
        warnings.append(f"its directory {queue.cwd} does not exist")
    secrets, problems = _secrets(queue)
    warnings += problems
    if problem := _command_problem(queue, secrets.get("PATH", queue.env.get("PATH"))):
        warnings.append(problem)
    return warnings


def _secrets(queue: Queue) -> tuple[dict[str, str], list[str]]:
    """What the file of secrets sets, and what is the matter with it."""
    if queue.env_file is None:
        return {}, []
    try:
        secrets = envfile.read(queue.env_file)
        mode = stat.S_IMODE(queue.env_file.stat().st_mode)
    except envfile.Unusable as error:
        return {}, [str(error)]
    except OSError as error:
        return {}, [f"env_file {queue.env_file}: {error.strerror}"]
    if mode & (stat.S_IROTH | stat.S_IWOTH):
        what = "read" if mode & stat.S_IROTH else "write to"
        return secrets, [f"env_file {queue.env_file}: every user may {what} it; chmod 640 keeps it secret"]
    return secrets, []


def _takes_all(config: Config) -> list[str]:
    """Queues that may leave no worker for the others."""
    most = config.daemon.workers
    names = [name for name, q in config.queues.items() if q.concurrency is None or q.concurrency >= most]
    if not names or len(config.queues) == 1:
        return []
    whom = f"queue {names[0]}: it" if len(names) == 1 else f"queues {', '.join(names)}: each"
    return [f"{whom} can take every worker; a concurrency below {most} keeps some free"]


def _unknown_word(queue: Queue, path: str | None) -> str | None:
    """The first word of a shell's line where it can only be a program's name and there is none."""
    word = next(iter(str(queue.command).split()), "")
    if not _PROGRAM.fullmatch(word) or word in _SHELLS_OWN or shutil.which(word, path=path):
        return None
    return f"PATH has no {word}"


def _command_problem(queue: Queue, path: str | None) -> str | None:
    """Why the command cannot be started by this user; of a shell's line its first word is looked at."""
    if isinstance(queue.command, str):
        refusal = missing(queue)
        return refusal.detail if refusal else _unknown_word(queue, path)
    program = queue.command[0]
    if "/" in program:
        program = os.fspath(queue.cwd / program)
    if shutil.which(program, path=path):
        return None
    return f"this user cannot execute {program}" if "/" in program else f"PATH has no {program}"
