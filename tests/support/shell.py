"""The real `sqlqd`, run as a person runs it: a directory with a configuration, and a process a command."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlqd.clock import SystemClock
from sqlqd.config import load
from sqlqd.model import Bury, Claim, Done, Holder, Retry, Verdict
from sqlqd.store.sqlite import SqliteStore, open_store

SQLQD = os.fspath(Path(sys.executable).with_name("sqlqd"))

PLAIN = """
[daemon]
database = "queue.db"
workers = 2

[queues.mail]
command = "cat"

[queues.json]
command = "cat"
payload = "json"

[queues.small]
command = "cat"
max_payload = 10
"""


@dataclass(frozen=True, slots=True)
class Result:
    """How one command ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one document."""
        return json.loads(self.out)

    @property
    def json_lines(self) -> list[Any]:
        """Standard output as a document a line."""
        return [json.loads(line) for line in self.out.splitlines()]


class Desk:
    """A configuration and its database in a directory, and the commands that a person gives there."""

    def __init__(self, directory: Path, toml: str = PLAIN) -> None:
        self.directory = directory
        self.config = directory / "sqlqd.toml"
        self.config.write_text(toml, encoding="utf-8")
        self.database = directory / "queue.db"

    def environment(self, **more: str) -> dict[str, str]:
        """This process's, with the configuration named and without what tests are started with."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("SQLQD_")}
        return env | {"SQLQD_CONFIG": os.fspath(self.config)} | more

    def run(
        self,
        *words: str | bytes,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        wrap: Sequence[str] = (),
    ) -> Result:
        """One command, to its end; `env` instead of the usual environment, `wrap` before `sqlqd`."""
        done = subprocess.run(
            [*wrap, SQLQD, *words],
            input=stdin,
            capture_output=True,
            cwd=self.directory,
            env=self.environment() if env is None else dict(env),
            timeout=30,
            check=False,
        )
        return Result(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    def good(self, *words: str | bytes, stdin: bytes = b"") -> Result:
        """One command that is meant to succeed."""
        result = self.run(*words, stdin=stdin)
        assert result.code == 0, result
        return result

    def enqueue(self, queue: str, payload: str = "", *words: str) -> str:
        """Add a job; its id."""
        return self.good("enqueue", *words, "--", queue, payload).out.strip()

    def jobs(self, *words: str) -> list[Any]:
        """What `list --json` shows."""
        return self.good("list", "--json", *words).json_lines

    def payloads(self, queue: str) -> list[str]:
        """The payloads of a queue's jobs, as they stand in the database."""
        return [job["payload"] for job in self.jobs("--queue", queue)]

    def store(self) -> SqliteStore:
        """The database, opened in this process; the caller closes it."""
        return open_store(self.database, SystemClock(), create=True)

    def claim(self, queue: str) -> Claim:
        """Have a job of the queue claimed by a worker that does nothing more."""
        with closing(self.store()) as store:
            taken = store.claim(Holder("00" * 8, 1, 1), [load(self.config).queues[queue].rules])
        assert taken.claim is not None
        return taken.claim

    def settle(self, queue: str, verdict: Verdict) -> str:
        """Claim a job of the queue and end that claim; the job's id."""
        claim = self.claim(queue)
        with closing(self.store()) as store:
            assert store.settle(claim, verdict).kept
        return claim.job.id

    def dead(self, queue: str, payload: str = "", reason: str = "exit 1") -> str:
        """A dead job; its id."""
        self.enqueue(queue, payload)
        return self.settle(queue, Bury(reason))

    def done(self, queue: str) -> str:
        """A job that was done; its id."""
        self.enqueue(queue)
        return self.settle(queue, Done())

    def failed(self, queue: str, *, wait: float) -> str:
        """A job that failed and waits that many seconds; its id."""
        self.enqueue(queue)
        return self.settle(queue, Retry(SystemClock().wall() + wait, "exit 1\nit broke"))
