"""The daemon under chaos: started, killed, started again, drained, stopped, and what it left on the disk."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.chaos.load import KINDS

CONFIG = """\
[daemon]
database = "queue.db"
workers = 4
drain_timeout = "5s"
log_format = "json"

[defaults]
lease = "5s"
timeout = "30s"
kill_grace = "1s"
max_attempts = 1000
max_crashes = 1000
keep_done = "1d"
backoff = {initial = "200ms", factor = 1.0, max = "200ms"}
"""

QUEUE = """
[queues.{kind}]
command = {command}
"""


def configuration() -> str:
    """A queue for each kind of job, all with the same command."""
    job = str(Path(__file__).with_name("job.py"))
    queues = [
        QUEUE.format(kind=kind, command=json.dumps([sys.executable, "-I", "-S", job, kind])) for kind in KINDS
    ]
    return CONFIG + "".join(queues).replace("[queues.doomed]\n", "[queues.doomed]\nmax_attempts = 4\n")


class Daemon:
    """A daemon in a folder of its own, under a mark that its jobs' processes inherit."""

    def __init__(self, home: Path) -> None:
        """Lay out the folder; nothing runs yet."""
        self.mark = f"CHAOS_HOME={home}"
        self._home = home
        self._config = home / "sqlqd.toml"
        self._config.write_text(configuration(), encoding="utf-8")
        (home / "locks").mkdir()
        (home / "journal").touch()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The parent's pid; 0 where none runs."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start the parent, and wait until it says that it runs."""
        environ = {**os.environ, "CHAOS_HOME": str(self._home)}
        with (self._home / "daemon.log").open("ab") as log:
            self._process = subprocess.Popen(
                ["sqlqd", "-c", str(self._config), "run"], env=environ, stdin=subprocess.DEVNULL, stderr=log
            )
        end = time.monotonic() + 20.0
        while not self._status()["daemon"]["running"]:
            if time.monotonic() > end or self._process.poll() is not None:
                raise RuntimeError(f"the daemon does not start: see {self._home / 'daemon.log'}")
            time.sleep(0.05)

    def crash(self) -> None:
        """Kill the parent as a crash would."""
        if self._process:
            self._process.kill()
            self._process.wait()

    def drain(self, seconds: float) -> list[str]:
        """Wait until no job is left; what is wrong where some still are."""
        end = time.monotonic() + seconds
        while left := self._left():
            if self._process is None or self._process.poll() is not None:
                return ["the daemon ended by itself"]
            if time.monotonic() > end:
                return [f"{left} jobs were not done {seconds:.0f} seconds after the last kill"]
            time.sleep(0.2)
        return []

    def stop(self) -> int:
        """Stop in order; the exit status."""
        if self._process is None:
            return -1
        self._process.terminate()
        try:
            return self._process.wait(30.0)
        except subprocess.TimeoutExpired:
            self.crash()
            return -9

    def abandon(self) -> None:
        """Leave no daemon behind, whatever went wrong."""
        if self._process and self._process.poll() is None:
            self.stop()

    def remains(self) -> tuple[frozenset[str], frozenset[str], int, str]:
        """Ids done, ids dead, rows still live, and what integrity_check says, once no daemon runs."""
        database = self._home / "queue.db"
        with closing(sqlite3.connect(database)) as connection:
            done = frozenset(row[0] for row in connection.execute("SELECT id FROM done_jobs"))
            dead = frozenset(row[0] for row in connection.execute("SELECT id FROM dead_jobs"))
            live = int(connection.execute("SELECT count(*) FROM jobs").fetchone()[0])
        return done, dead, live, integrity(database)

    def _status(self) -> dict[str, Any]:
        words = ["sqlqd", "-c", str(self._config), "status", "--json"]
        done = subprocess.run(words, capture_output=True, check=False)
        found: dict[str, Any] = json.loads(done.stdout or '{"daemon": {"running": false}}')
        return found

    def _left(self) -> int:
        queues = self._status().get("queues", [])
        return sum(queue["ready"] + queue["scheduled"] + queue["running"] for queue in queues)


def integrity(database: Path) -> str:
    """What `PRAGMA integrity_check` says, by an SQLite that is not sqlqd's."""
    program = shutil.which("sqlite3")
    if program:
        words = [program, str(database), "PRAGMA integrity_check"]
        return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    with closing(sqlite3.connect(database)) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
