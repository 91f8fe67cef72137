"""What a claim costs as the database grows. Started by ./scripts/bench-claim.

Every shape is a file of its own, and all are measured in turns, so that a machine that slows down slows
all of them; what counts is the ratio of medians.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from sqlqd.clock import SystemClock
from sqlqd.model import Done, Holder, Rules
from sqlqd.store.sqlite import SqliteStore, open_store

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
    """One database and what was measured on it, in microseconds."""

    name: str
    fill: str
    rows: int
    ready: int = BASE
    limit: float = LIMIT
    store: SqliteStore | None = None
    claims: list[float] = field(default_factory=list)
    turns: list[float] = field(default_factory=list)


def shapes(scale: int) -> list[Shape]:
    """The smallest first: the others are measured against it."""
    return [
        Shape("1k waiting", _READY, 0),
        Shape("100k waiting", _READY, 100_000 // scale),
        Shape("1M waiting", _READY, 1_000_000 // scale),
        Shape("1M future of high priority", _FUTURE, 1_000_000 // scale),
        Shape("1M future of 100 high priorities", _MANY_FUTURES, 1_000_000 // scale, limit=5.0),
        Shape("10k leased", _LEASED, 10_000),
        Shape("1M dead", _DEAD, 1_000_000 // scale),
    ]


def make(shape: Shape, folder: Path) -> SqliteStore:
    """Fill the shape's file and open it."""
    path = folder / f"{shape.name.replace(' ', '-')}.db"
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


def measure(shape: Shape, claims: int) -> None:
    """Claim and finish by themselves, then finish with the next claim in one transaction."""
    store = shape.store
    assert store is not None
    for _ in range(claims):
        start = time.perf_counter()
        claim = store.claim(HOLDER, SERVED).claim
        shape.claims.append((time.perf_counter() - start) * 1e6)
        assert claim is not None
        start = time.perf_counter()
        settled = store.settle(claim, Done(), then=(HOLDER, SERVED))
        shape.turns.append((time.perf_counter() - start) * 1e6)
        assert settled.next.claim is not None
        store.settle(settled.next.claim, Done())


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a line for each shape; 1 if any of them costs too much."""
    parser = argparse.ArgumentParser(prog="bench-claim", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, and fewer rounds")
    quick = parser.parse_args(arguments).quick
    measured = shapes(10 if quick else 1)
    rounds, claims = (10, 10) if quick else (20, 20)
    with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
        for shape in measured:
            shape.store = make(shape, Path(folder))
        for _ in range(rounds):
            for shape in measured:
                measure(shape, claims)
    smallest = measured[0]
    failed = False
    for shape in measured:
        ratio = statistics.median(shape.claims) / statistics.median(smallest.claims)
        failed |= ratio > shape.limit
        line = {
            "bench": "claim",
            "shape": shape.name,
            "ready": BASE + (shape.rows if shape.fill == _READY else 0),
            "others": 0 if shape.fill == _READY else shape.rows,
            "claim_us": round(statistics.median(shape.claims), 1),
            "claim_ratio": round(ratio, 2),
            "finish_and_claim_us": round(statistics.median(shape.turns), 1),
            "finish_and_claim_ratio": round(
                statistics.median(shape.turns) / statistics.median(smallest.turns), 2
            ),
        }
        sys.stdout.write(json.dumps(line) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
