"""Measures what sqlqd promises of its speed, each row against something else in the same run.

Ratios are of medians of several rounds, taken in turns. Started by ./scripts/bench.
"""

import argparse
import platform
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from tests.bench import daemons, stores
from tests.bench.rows import Row

Group = Callable[[], list[Row]]


def groups(*, full: bool) -> dict[str, Group]:
    """What is measured, by name."""
    rounds = 5 if full else 3
    jobs = 2000 if full else 500
    return {
        "throughput": lambda: daemons.throughput(rounds, jobs),
        "claims": lambda: stores.claims(rounds, 20_000 if full else 5000),
        "locks": lambda: stores.locks(3 if full else 1, 10.0 if full else 4.0),
        "pickup": lambda: daemons.pickup(200 if full else 40)[0],
        "idle": lambda: daemons.idle(60.0 if full else 15.0),
        "herd": lambda: daemons.herd(rounds),
        "enqueue": lambda: stores.enqueue(40 if full else 15),
        "lines": lambda: stores.lines(rounds, 100_000 if full else 20_000),
        "drained": lambda: stores.drained(1_000_000 if full else 50_000),
    }


def main(arguments: list[str] | None = None) -> int:
    """Measure and tell; the exit status is 0 whatever was missed: a busy machine misses much."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="fewer rounds and jobs; the default")
    size.add_argument("--full", action="store_true", help="what docs/performance.md shows")
    parser.add_argument(
        "--only", action="append", metavar="GROUP", help="of the groups only this; may be repeated"
    )
    parser.add_argument("--json", action="store_true", help="a document a line, without the table")
    chosen = parser.parse_args(arguments)
    known = groups(full=chosen.full)
    for name in chosen.only or []:
        if name not in known:
            parser.error(f"no group {name!r}; there are {', '.join(known)}")
    rows = list(_measured({name: known[name] for name in chosen.only or known}, as_json=chosen.json))
    if not chosen.json:
        missing = {"xargs -P2", "GNU parallel -j2", "task-spooler, 2 slots"} - daemons.peers(1).keys()
        if missing:
            print(f"not installed, so not measured: {', '.join(sorted(missing))}")
        missed = [row.what for row in rows if not row.met]
        print(f"missed: {'; '.join(missed)}" if missed else "every goal was met")
    return 0


def _measured(chosen: dict[str, Group], *, as_json: bool) -> Iterator[Row]:
    if not as_json:
        machine = f"{platform.machine()}, {daemons.processors()} processors, Linux {platform.release()}"
        print(f"{datetime.now(UTC):%Y-%m-%d}, {machine}")
    for group in chosen.values():
        for row in group():
            print(row.line() if as_json else row.text())
            sys.stdout.flush()
            yield row


if __name__ == "__main__":
    sys.exit(main())
