"""Measures what sqlqd promises of its speed, each row against something else in the same run.

Ratios are of figures of one round, medians over several. docs/performance.md tells how each is measured.
"""

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench import daemons, growth, peers, plots, report, stores
from tests.bench.rows import Row, line

Group = Callable[[], list[Row]]
Measured = tuple[str, float, list[Row]]


def groups(*, full: bool) -> dict[str, Group]:
    """What is measured, by name."""
    rounds = 5 if full else 3
    jobs = 2000 if full else 500
    return {
        "throughput": lambda: daemons.throughput(rounds, jobs),
        "workers": lambda: daemons.by_workers(rounds, jobs),
        "claims": lambda: stores.claims(rounds, 20_000 if full else 5000),
        "locks": lambda: stores.locks(3 if full else 1, 10.0 if full else 4.0),
        "pickup": lambda: daemons.pickup(200 if full else 40),
        "idle": lambda: daemons.idle(60.0 if full else 15.0),
        "herd": lambda: daemons.herd(rounds),
        "growth": lambda: growth.growth(20 if full else 5, 20 if full else 10, 1 if full else 20),
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
    parser.add_argument(
        "--markdown", type=Path, metavar="PAGE", help="write the table between the two markers of a page"
    )
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="draw PNGs there; needs matplotlib")
    chosen = parser.parse_args(arguments)
    known = groups(full=chosen.full)
    for name in chosen.only or []:
        if name not in known:
            parser.error(f"no group {name!r}; there are {', '.join(known)}")
    # What would be refused at the end is refused before an hour of measuring.
    if chosen.plots and not importlib.util.find_spec("matplotlib"):
        parser.error("--plots needs matplotlib: python3 -m pip --python .venv/bin/python install matplotlib")
    if chosen.markdown:
        try:
            report.between(chosen.markdown.read_text(), "")
        except (OSError, ValueError) as fault:
            parser.error(f"{chosen.markdown}: {fault}")
    head, absent = report.head(), peers.absent()
    if chosen.json:
        print(json.dumps({"head": head, "absent": absent}, ensure_ascii=False))
    else:
        print(report.described(head))
    wanted = {name: known[name] for name in chosen.only or known}
    found = list(_measured(wanted, as_json=chosen.json))
    if not chosen.json:
        _sum_up(found, absent)
    drawn = plots.draw(chosen.plots, {name: rows for name, _, rows in found}) if chosen.plots else {}
    if chosen.markdown:
        text = report.table(head, found, absent) + report.pictures(drawn, chosen.markdown.parent)
        chosen.markdown.write_text(report.between(chosen.markdown.read_text(), text))
    return 0


def _sum_up(found: list[Measured], absent: list[str]) -> None:
    if absent:
        print(f"not installed, so not measured: {'; '.join(absent)}")
    missed = [row.what for _, _, rows in found for row in rows if row.met is False]
    print(f"missed: {'; '.join(missed)}" if missed else "every goal was met")


def _measured(chosen: dict[str, Group], *, as_json: bool) -> Iterator[Measured]:
    for name, group in chosen.items():
        busy = report.busy()
        if not as_json:
            print(f"\n{name} (processors busy before: {busy:.0%})")
        rows = group()
        for row in rows:
            print(line(name, busy, row) if as_json else row.text())
        sys.stdout.flush()
        yield name, busy, rows


if __name__ == "__main__":
    sys.exit(main())
