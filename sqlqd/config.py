"""What the configuration says, as plain values, and where it is found. `load` is the only way to one.

Each key is declared once, here: its field, what it may be, its default and its text.
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from sqlqd import model

SYSTEM_PATH = Path("/etc/sqlqd/sqlqd.toml")
ENVIRONMENT = "SQLQD_CONFIG"


class ConfigError(Exception):
    """The configuration is wrong or missing; `problems` has one line for each thing to mend."""

    def __init__(self, *problems: str) -> None:
        """Each problem is `file:line: text`, or one line that says what is missing."""
        super().__init__("\n".join(problems))
        self.problems = problems


class ConfigDenied(ConfigError):
    """The system refuses this user the file."""


def _processors() -> int:
    return max(2, len(os.sched_getaffinity(0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """The table [daemon]. Lengths are seconds."""

    database: Path
    workers: int = field(default_factory=_processors)
    drain_timeout: float = 30.0
    busy_timeout: float = 5.0
    log_level: str = "info"
    log_format: str = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """One table [queues.NAME], with [defaults] worked in. Lengths are seconds, sizes bytes."""

    name: str
    command: str | tuple[str, ...]
    concurrency: int | None = None
    lease: float = 30.0
    timeout: float = math.inf
    kill_grace: float = 10.0
    max_attempts: int = model.DEFAULT_MAX_ATTEMPTS
    max_crashes: int = model.DEFAULT_MAX_CRASHES
    backoff: model.Backoff = model.Backoff()
    json: bool = False
    max_payload: int = 65_536
    keep_done: float = 86_400.0
    cwd: Path = Path("/")
    env: Mapping[str, str] = MappingProxyType({})
    payload_env: bool = True
    log_output: bool = True
    drain_timeout: float = 30.0

    @property
    def rules(self) -> model.Rules:
        """What the store must know of it."""
        return model.Rules(
            name=self.name,
            lease=self.lease,
            concurrency=self.concurrency,
            max_attempts=self.max_attempts,
            max_crashes=self.max_crashes,
            max_payload=self.max_payload,
            json=self.json,
            keep_done=self.keep_done,
        )

    @property
    def policy(self) -> model.Policy:
        """What decides about its failures."""
        return model.Policy(backoff=self.backoff)


@dataclass(frozen=True, slots=True)
class Config:
    """One configuration file, checked."""

    path: Path
    """Absolute."""
    daemon: Daemon
    queues: Mapping[str, Queue]


def locate(explicit: str | None, environ: Mapping[str, str]) -> Path:
    """The configuration file to use, absolute; raises ConfigError where none is named and none stands ready."""
    named = explicit or environ.get(ENVIRONMENT)
    return Path(os.path.abspath(named)) if named else SYSTEM_PATH  # noqa: PTH100 - resolve() would follow links


def load(path: Path) -> Config:
    """Read and check a configuration file; raises ConfigError with every problem of it."""
    raise ConfigError(f"{path}:1: not read yet")
