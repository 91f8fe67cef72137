"""One producer under chaos: adds jobs at random moments until it is stopped, and notes each acknowledged id.

Started as `python -m tests.chaos.load WAY SEED HOME`, a process of its own for each way in: the command line,
sqlqd's Python interface, and plain SQL by an SQLite that is not sqlqd's.
"""

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import FrameType

KINDS = {"quick": 60, "slow": 12, "failing": 12, "doomed": 5, "leaver": 15}
"""The queues, and how often each is chosen."""

Way = Callable[[str, str], str]
"""Adds one job to a queue with a payload; its id, once that is acknowledged."""

ADD = "INSERT INTO jobs (queue, payload) VALUES ('{}', '{}') RETURNING id"


def by_command_line(home: Path) -> Way:
    """`sqlqd enqueue`, a process for each job."""

    def add(queue: str, payload: str) -> str:
        return _output(["sqlqd", "-c", str(home / "sqlqd.toml"), "enqueue", queue, payload])

    return add


def by_interface(home: Path) -> Way:
    """`sqlqd.connect`, open for as long as the producer runs."""
    import sqlqd  # noqa: PLC0415 - brings an SQLite of its own, which must not share a process with the other

    return sqlqd.connect(home / "queue.db").enqueue


def by_sql(home: Path) -> Way:
    """The system's sqlite3 program, or where there is none Python's module."""
    program = shutil.which("sqlite3")
    database = home / "queue.db"

    def add_by_program(queue: str, payload: str) -> str:
        quiet = ["-cmd", ".timeout 10000", "-cmd", ".output /dev/null", "-cmd", "PRAGMA wal_autocheckpoint=0"]
        return _output([str(program), *quiet, "-cmd", ".output", str(database), ADD.format(queue, payload)])

    def add_by_module(queue: str, payload: str) -> str:
        with closing(sqlite3.connect(database, timeout=10.0, isolation_level=None)) as connection:
            connection.execute("PRAGMA wal_autocheckpoint=0")
            return str(connection.execute(ADD.format(queue, payload)).fetchall()[0][0])

    return add_by_program if program else add_by_module


WAYS: dict[str, Callable[[Path], Way]] = {
    "command-line": by_command_line,
    "interface": by_interface,
    "sql": by_sql,
}


def _output(words: list[str]) -> str:
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


class Producers:
    """One producer for each way in."""

    def __init__(self, home: Path, seed: str) -> None:
        """Nothing runs yet."""
        self._home = home
        self._seed = seed
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start them all."""
        for way in WAYS:
            words = [sys.executable, "-m", "tests.chaos.load", way, self._seed, str(self._home)]
            self._running[way] = subprocess.Popen(words)

    def stop(self) -> list[str]:
        """Let each finish the job that it is adding; what went wrong."""
        for process in self._running.values():
            process.terminate()
        statuses = {way: process.wait(30.0) for way, process in self._running.items()}
        return [f"producer {way} ended with exit status {code}" for way, code in statuses.items() if code]

    def abandon(self) -> None:
        """Leave none behind, whatever went wrong."""
        for process in self._running.values():
            if process.poll() is None:
                process.kill()
                process.wait()

    def acknowledged(self) -> dict[str, str]:
        """The kind of each job that somebody was given the id of."""
        notes = [_noted(self._home, way).read_text(encoding="ascii") for way in WAYS]
        return dict(line.split() for line in "".join(notes).splitlines())


def _noted(home: Path, way: str) -> Path:
    return home / f"acknowledged-{way}"


def main(way: str, seed: str, home: Path) -> None:
    """Add jobs until SIGTERM; an addition under way is finished and noted."""
    stopped = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGTERM, stop)
    chance = random.Random(f"{seed} {way}")
    add = WAYS[way](home)
    with _noted(home, way).open("a", encoding="ascii", buffering=1) as acknowledged:
        while not stopped:
            kind = chance.choices(list(KINDS), list(KINDS.values()))[0]
            acknowledged.write(f"{add(kind, f'payload of {kind}')} {kind}\n")
            time.sleep(chance.uniform(0.0, 0.15))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
