"""The ways in: each adds what is wished and yields every id once it is acknowledged, or raises Refused."""

import random
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator

from tests.chaos.ground import SOURCES, Ground
from tests.chaos.kinds import Wish

Way = Callable[[Wish], Iterator[str]]

FULL, LOCKED = "full", "locked"
_STATUSES = {74: FULL, 75: LOCKED}
_WORDS = {"locked": LOCKED, "is full": FULL, "disk I/O error": FULL}
_PATIENCE = 10.0
"""Seconds that the other SQLite waits for a lock."""

_COLUMNS = "(id, queue, payload, priority, key, run_at)"
_DUE = "(julianday('now') - 2440587.5) * 86400.0"
_INSERT = f"INSERT INTO jobs {_COLUMNS} VALUES (?, ?, ?, ?, ?, {_DUE} + ?)"
_ONCE = "ON CONFLICT DO NOTHING RETURNING id"


class Refused(Exception):
    """Nothing was added, for a reason that lies outside; it is in the exception's text, in one word."""


def _fault(text: str) -> Exception:
    """What it means that nothing was added: one of the reasons that lie outside, or a fault."""
    kinds = (Refused(kind) for words, kind in _WORDS.items() if words in text)
    return next(kinds, RuntimeError(f"nothing was added: {text}"))


def command_line(ground: Ground, chance: random.Random) -> Way:
    """`sqlqd enqueue`, a process for each call; several jobs at once by --lines."""
    start = [sys.executable, "-m", "tests.chaos.stepped", "-c", str(ground.home / "first.toml"), "enqueue"]

    def add(wish: Wish) -> Iterator[str]:
        words = [*start, wish.kind, f"--priority={wish.priority}", f"--delay={wish.delay:.3f}"]
        words += [f"--key={wish.key}"] if wish.key else []
        words += ["--lines"] if wish.count > 1 else ["-"]
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=SOURCES,
            text=True,
        )
        told, complaint = process.communicate("\n".join([wish.payload] * wish.count))
        # What was told was committed, whatever became of the rest.
        yield from told.split()
        if process.returncode in _STATUSES:
            raise Refused(_STATUSES[process.returncode])
        if process.returncode:
            raise RuntimeError(f"enqueue ended with {process.returncode}: {complaint}")

    return add


def interface(ground: Ground, chance: random.Random) -> Way:
    """`sqlqd.connect`, open for as long as the producer runs."""
    import sqlqd  # noqa: PLC0415 - brings an SQLite of its own, which must not share a process with the other
    from sqlqd.model import NewJob  # noqa: PLC0415 - with it
    from sqlqd.store.base import StoreError  # noqa: PLC0415 - with it

    queue = sqlqd.connect(ground.database)

    def add(wish: Wish) -> Iterator[str]:
        jobs = [
            NewJob(wish.kind, wish.payload, delay=wish.delay, priority=wish.priority, key=wish.key)
        ] * wish.count
        try:
            yield from queue.enqueue_many(jobs)
        except StoreError as error:
            raise _fault(str(error)) from error

    return add


def application(ground: Ground, chance: random.Random) -> Way:
    """An application's own connection of Python's sqlite3, kept open: its transactions, and plain SQL."""
    from sqlqd import enqueue  # noqa: PLC0415 - where it is used, as the other way's

    connection = sqlite3.connect(ground.database, timeout=_PATIENCE, isolation_level=None)
    connection.execute("PRAGMA wal_autocheckpoint = 0")

    def plain(wish: Wish) -> Iterator[str]:
        for _ in range(wish.count):
            values = (uuid.uuid4().hex, wish.kind, wish.payload, wish.priority, wish.key, wish.delay)
            yield from (row[0] for row in connection.execute(f"{_INSERT} {_ONCE}", values).fetchall())

    def in_transaction(wish: Wish) -> Iterator[str]:
        connection.execute("BEGIN IMMEDIATE")
        ids = [
            enqueue(
                connection, wish.kind, wish.payload, delay=wish.delay, priority=wish.priority, key=wish.key
            )
            for _ in range(wish.count)
        ]
        connection.execute("COMMIT")
        yield from ids

    def rolled_back(wish: Wish) -> Iterator[str]:
        connection.execute("BEGIN IMMEDIATE")
        ids = [uuid.uuid4().hex for _ in range(wish.count)]
        for job in ids:
            connection.execute(_INSERT, (job, wish.kind, wish.payload, 0, None, 0.0))
        connection.execute("ROLLBACK")
        with ground.rolled_back.open("a", encoding="ascii") as file:
            file.writelines(f"{job}\n" for job in ids)
        yield from ()

    def add(wish: Wish) -> Iterator[str]:
        try:
            yield from chance.choices((plain, in_transaction, rolled_back), (5, 4, 1))[0](wish)
        except sqlite3.OperationalError as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise _fault(str(error)) from error

    return add


def shell(ground: Ground, chance: random.Random) -> Way:
    """The system's sqlite3 program, a process for each job."""
    start = ["sqlite3", "-cmd", f".timeout {_PATIENCE * 1000:.0f}", "-cmd", "PRAGMA wal_autocheckpoint=0"]

    def add(wish: Wish) -> Iterator[str]:
        payload, key = wish.payload.replace("'", "''"), f"'{wish.key}'" if wish.key else "NULL"
        insert = (
            "INSERT INTO jobs (queue, payload, priority, key, run_at) VALUES "
            f"('{wish.kind}', '{payload}', {wish.priority}, {key}, {_DUE} + {wish.delay}) {_ONCE}"
        )
        words = [*start, str(ground.database), insert]
        done = subprocess.run(words, check=False, capture_output=True, text=True)
        if done.returncode:
            raise _fault(f"{done.stderr} ({done.returncode})")
        # The first line is what the PRAGMA says.
        yield from done.stdout.split()[1:]

    return add


WAYS: dict[str, Callable[[Ground, random.Random], Way]] = {
    "command-line": command_line,
    "interface": interface,
    "application": application,
    "shell": shell,
}
