"""What a configuration may say: its tables as plain values, and each of their keys declared once.

A key is its field, what it may be, its default and its text. `sqlqd.config.load` makes these objects.
"""

import math
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlqd import terms
from sqlqd.config import kinds, tables
from sqlqd.config.tables import key

if TYPE_CHECKING:
    from sqlqd.timetable import Schedule

_HOUR = 3600.0
_DAY = 86_400.0
_YEAR = 31_557_600.0
MOST_WORKERS = 1023
"""The daemon's shared map has a slot for each, and one for the steward. Loading the map to ask it costs a
millisecond of every command."""
LARGEST_PAYLOAD = 256 * 1024**2
DEFAULT_MAX_PAYLOAD = 65_536
_MANY = 1_000_000


def _processors() -> int:
    return min(max(2, len(os.sched_getaffinity(0))), MOST_WORKERS)


class Daemon(tables.Table):
    """The table [daemon]. Lengths are seconds."""

    database: Path = key(kinds.database, "the queue's file; relative to the configuration file")
    workers: int = key(
        kinds.whole(1, MOST_WORKERS),
        "worker processes, which is how many commands run at once; default: the processors, at least 2",
        factory=_processors,
    )
    drain_timeout: float = key(
        kinds.length(0, _YEAR, infinite=True),
        'how long a stop waits for running commands; "infinity" for as long as they take',
        default=30.0,
    )
    busy_timeout: float = key(
        kinds.length(0, _HOUR), "how long to wait while others keep the database locked", default=5.0
    )
    log_level: str = key(
        kinds.words("debug", "info", "warning", "error"), "the least that is logged", default="info"
    )
    log_format: str = key(
        kinds.words("auto", "journal", "json", "console"),
        "auto: the journal where standard error leads there, text on a terminal, else JSON lines",
        default="auto",
    )


_BACKOFF: dict[str, tables.Key] = {
    "initial": tables.Key("initial", kinds.length(0, _YEAR), "the pause after the first failure"),
    "factor": tables.Key("factor", kinds.number(1, 1000), "each pause is this many times the one before"),
    "max": tables.Key("max", kinds.length(0, _YEAR), "no pause is longer"),
    "jitter": tables.Key(
        "jitter", kinds.number(0, 1), "the fraction by which chance lengthens or shortens one"
    ),
}


def _backoff(**values: Any) -> terms.Backoff:
    made = terms.Backoff(**values)
    if made.initial > made.max:
        raise kinds.Unfit("initial cannot be longer than max")
    return made


_BREAKER: dict[str, tables.Key] = {
    "failures": tables.Key("failures", kinds.whole(1, _MANY), "so many in a row"),
    "pause": tables.Key("pause", kinds.length(1, _YEAR), "until one job is tried"),
}


def _breaker(**values: Any) -> terms.Breaker:
    if missing := _BREAKER.keys() - values.keys():
        raise kinds.Unfit(f"needs {' and '.join(sorted(missing))} too")
    return terms.Breaker(**values)


class Queue(tables.Table):
    """One table [queues.NAME], with [defaults] worked in. Lengths are seconds, sizes bytes."""

    name: str
    command: str | tuple[str, ...] = key(
        kinds.command, "what runs for each job: text for /bin/sh -c, or an array that is run without a shell"
    )
    concurrency: int | None = key(
        kinds.whole(1, _MANY), "at most this many at once; default: no limit of its own", default=None
    )
    lease: float = key(
        kinds.length(2, _DAY), "how long a claim holds without being renewed; workers renew it", default=30.0
    )
    timeout: float = key(
        kinds.length(0.001, _YEAR, infinite=True), "a command that runs longer is ended", default=math.inf
    )
    kill_grace: float = key(
        kinds.length(0, _HOUR), "how long a command has between SIGTERM and SIGKILL", default=10.0
    )
    success_codes: frozenset[int] = key(
        kinds.codes, "exit statuses that end a job well; default: 0", default=frozenset({0})
    )
    dead_codes: frozenset[int] = key(
        kinds.codes, "exit statuses after which it is not tried again", default=frozenset()
    )
    max_attempts: int = key(
        kinds.whole(1, _MANY),
        "a job that failed this often goes to the dead jobs",
        default=terms.DEFAULT_MAX_ATTEMPTS,
    )
    max_crashes: int = key(
        kinds.whole(1, _MANY),
        "so does one that so often took its worker down or lost its lease",
        default=terms.DEFAULT_MAX_CRASHES,
    )
    backoff: terms.Backoff = key(
        tables.table(_BACKOFF, _backoff), "the pauses between attempts", default=terms.Backoff()
    )
    json: bool = key(
        kinds.choice({"text": False, "json": True}),
        "text, or json: refuse what is not valid JSON",
        default=False,
        name="payload",
    )
    max_payload: int = key(
        kinds.size(0, LARGEST_PAYLOAD), "a longer payload is refused", default=DEFAULT_MAX_PAYLOAD
    )
    keep_done: float = key(
        kinds.length(0, 100 * _YEAR),
        'how long the record of a done job is kept; "0s": not at all',
        default=_DAY,
    )
    keep_dead: float = key(
        kinds.length(0, 100 * _YEAR, infinite=True), "how long a dead job is kept", default=math.inf
    )
    expires: float = key(
        kinds.length(0.001, 100 * _YEAR, infinite=True),
        "a job that waited longer is not started any more, but dead",
        default=math.inf,
    )
    max_waiting: int | None = key(
        kinds.whole(1, 1_000_000_000), "`enqueue` is refused while so many wait", default=None
    )
    exclusive: bool = key(
        kinds.flag, "true: jobs of the same key may be several, and run one after the other", default=False
    )
    rate: terms.Rate | None = key(
        kinds.rate, 'how often a job may start: "10/min", or { limit = "10/min", burst = 5 }', default=None
    )
    breaker: terms.Breaker | None = key(
        tables.table(_BREAKER, _breaker), "so many failures in a row hold the queue for a pause", default=None
    )
    on_dead: str | None = key(kinds.name, "the queue that gets each dead job, as JSON", default=None)
    cwd: Path = key(
        kinds.path, "where the command runs; relative to the configuration file", default=Path("/")
    )
    env: Mapping[str, str] = key(kinds.environment, "added to the command's environment", factory=dict)
    env_file: Path | None = key(
        kinds.path,
        "a file of secrets, read at each start of a command; relative to the configuration file",
        default=None,
    )
    user: str | None = key(
        kinds.user(),
        "whom its commands run as; only where the daemon is root; default: the daemon's own user",
        default=None,
    )
    payload_env: bool = key(kinds.flag, "false: the payload comes by standard input alone", default=True)
    memory_max: int | None = key(
        kinds.size(1024**2, 1024**5),
        "a job whose processes together use more memory is ended; default: no limit of its own",
        default=None,
    )
    cpu_quota: float | None = key(
        kinds.percentage(1, 100_000),
        'at most so much of one processor for a job; "200%": two whole ones; default: no limit',
        default=None,
    )
    tasks_max: int | None = key(
        kinds.whole(1, _MANY),
        "at most so many processes and threads at once for a job; default: no limit of its own",
        default=None,
    )
    log_output: bool = key(kinds.flag, "false: the command's output is not logged", default=True)
    drain_timeout: float = key(
        kinds.length(0, _YEAR, infinite=True),
        "how long a stop waits for its running commands; default: the daemon's",
        default=30.0,
    )

    @property
    def rules(self) -> terms.Rules:
        """What the store must know of it."""
        return terms.Rules(
            name=self.name,
            lease=self.lease,
            concurrency=self.concurrency,
            max_attempts=self.max_attempts,
            max_crashes=self.max_crashes,
            max_payload=self.max_payload,
            json=self.json,
            keep_done=self.keep_done,
            keep_dead=self.keep_dead,
            expires=self.expires,
            exclusive=self.exclusive,
            rate=self.rate,
            breaker=self.breaker,
            on_dead=self.on_dead,
        )

    @property
    def policy(self) -> terms.Policy:
        """What decides about its failures."""
        return terms.Policy(self.backoff, self.success_codes, self.dead_codes)


class Config(NamedTuple):
    """One configuration file, checked."""

    path: Path
    """Absolute."""
    daemon: Daemon
    queues: Mapping[str, Queue]
    schedules: "Mapping[str, Schedule]" = MappingProxyType({})
