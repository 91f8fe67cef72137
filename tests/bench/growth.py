"""What a claim costs as the database grows.

Every shape is a file of its own, and all are measured in turns, so that a machine that slows down slows
all of them; what counts is the ratio of medians.
"""

import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import apsw

from sqlqd.clock import SystemClock
from sqlqd.model import Done, Holder, Rules
from sqlqd.store.sqlite import SqliteStore, open_store
from tests.bench.rows import Row, compared

LIMIT = 1.5
"""How many times what the smallest shape costs another one may."""

HOLDER = Holder("b" * 16, 1, 1)
SERVED = (Rules("mail", keep_done=0.0), Rules("other", keep_done=0.0))
BASE = 1000

_ROWS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
_JOBS = f"INSERT INTO jobs (queue, payload, priority, run_at) {_ROWS} "
_READY = f"{_JOBS} SELECT 'mail', hex(zeroblob(50)), 0, i FROM n"
_FUTURE = f"{_JOBS} SELECT 'mail', hex(zeroblob(50)), 10, 9e10 + i FROM n"
_MANY_FUTURES = f"{_JOBS} SELECT 'mail', hex(zeroblob(50)), 1 + i % 100, 9e10 + i FROM n"
_LEASED = (
    "INSERT INTO jobs (queue, payload, run_at, attempts, locked_by, locked_until, claimed_at, lease_boot, "
    f"lease_end) {_ROWS} "
    "SELECT 'mail', hex(zeroblob(50)), 0, 1, 'someone/1/1/' || i, 9e10, 1, 'boot', 9e10 FROM n"
)
_DEAD = (
    "INSERT INTO dead_jobs (id, queue, priority, run_at, created_at, attempts, crashes, died_at, reason, "
    f"payload) {_ROWS} "
    "SELECT lower(hex(randomblob(16))), 'mail', 0, 1, 1, 20, 0, i, 'no', hex(zeroblob(50)) FROM n"
)


@dataclass
class Shape:
    """One database."""

    name: str
    fill: str
    rows: int
    ready: int = BASE
    limit: float = LIMIT
    store: SqliteStore | None = None


def shapes(scale: int) -> list[Shape]:
    """The smallest first: the others are measured against it. Names tell the rows that there really are."""
    hundred, million, five = 100_000 // scale, 1_000_000 // scale, 5_000_000 // scale
    return [
        Shape(f"{BASE:,} waiting", _READY, 0),
        Shape(f"{hundred:,} waiting", _READY, hundred),
        Shape(f"{million:,} waiting", _READY, million),
        Shape(f"{five:,} waiting", _READY, five),
        Shape(f"{million:,} future of one high priority", _FUTURE, million),
        Shape(f"{million:,} future of 100 high priorities", _MANY_FUTURES, million, limit=4.0),
        Shape("10,000 leased", _LEASED, 10_000),
        Shape(f"{million:,} dead", _DEAD, million),
    ]


def make(shape: Shape, folder: Path) -> SqliteStore:
    """Fill the shape's file and open it."""
    path = folder / f"{shape.name.replace(' ', '-').replace(',', '')}.db"
    open_store(path, SystemClock(), create=True).close()
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA synchronous = OFF").fetchall()
    with connection:
        connection.execute(_READY, (shape.ready,)).fetchall()
        if shape.rows:
            connection.execute(shape.fill, (shape.rows,)).fetchall()
    connection.close()
    # As a worker opens it: nothing is copied back into the file while we measure.
    return open_store(path, SystemClock(), autocheckpoint=False)


def measure(shape: Shape, claims: int) -> tuple[float, float]:
    """The medians of claims by themselves, and of finishing with the next claim, in microseconds."""
    store = shape.store
    assert store is not None
    once, turns = [], []
    for _ in range(claims):
        start = time.perf_counter()
        claim = store.claim(HOLDER, SERVED).claim
        once.append((time.perf_counter() - start) * 1e6)
        assert claim is not None
        start = time.perf_counter()
        settled = store.settle(claim, Done(), then=(HOLDER, SERVED))
        turns.append((time.perf_counter() - start) * 1e6)
        assert settled.next.claim is not None
        store.settle(settled.next.claim, Done())
    return statistics.median(once), statistics.median(turns)


def growth(rounds: int, claims: int, scale: int) -> list[Row]:
    """Each shape against the smallest one."""
    measured = shapes(scale)
    with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
        for shape in measured:
            shape.store = make(shape, Path(folder))
        claimed: list[list[float]] = [[] for _ in measured]
        turned: list[list[float]] = [[] for _ in measured]
        for number in range(rounds + 1):
            pairs = list(enumerate(measured))
            for index, shape in pairs if number % 2 else reversed(pairs):
                once, turns = measure(shape, claims)
                if number:  # the first round only warms
                    claimed[index].append(once)
                    turned[index].append(turns)
        for shape in measured:
            assert shape.store is not None
            shape.store.close()
    rows = []
    for what, found in (("a claim", claimed), ("finish and next claim", turned)):
        rows += [
            compared(
                f"{what}, {shape.name}",
                "µs",
                found[index],
                measured[0].name,
                found[0],
                goal=shape.limit,
                more=False,
            )
            for index, shape in enumerate(measured)
            if index
        ]
    return rows
