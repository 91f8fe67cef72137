"""Pictures of rows that were measured; needs matplotlib, which nothing else does."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.rows import Row


def draw(folder: Path, groups: Mapping[str, Sequence[Row]]) -> dict[str, Path]:
    """A PNG for each group that has one, by what it shows. They are drawn to be read in grey."""
    from matplotlib.figure import Figure  # noqa: PLC0415  # only who asks for pictures needs it

    folder.mkdir(parents=True, exist_ok=True)
    known = (
        ("workers", "Throughput by workers, beside xargs", _workers),
        ("growth", "What a claim costs, by what else is in the file", _growth),
        ("pickup", "Which share of jobs has started after how long", _pickup),
    )
    made = {}
    for name, title, drawing in known:
        rows = groups.get(name)
        if not rows:
            continue
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        axes = figure.add_subplot()
        drawing(axes, rows)
        axes.spines[["top", "right"]].set_visible(False)
        path = folder / f"{name}.png"
        figure.savefig(path, dpi=100, metadata={"Software": None})
        made[title] = path
    return made


def _workers(axes: Any, rows: Sequence[Row]) -> None:
    counts = [row.what.rpartition(" ")[2] for row in rows]
    axes.plot(counts, [row.value for row in rows], "k-o", label="sqlqd")
    axes.plot(counts, [row.reference for row in rows], "--s", color="0.5", label="xargs -P")
    axes.set(xlabel="workers", ylabel="jobs a second", ylim=(0, None))
    axes.legend(frameon=False)


def _growth(axes: Any, rows: Sequence[Row]) -> None:
    claims = [row for row in rows if row.what.startswith("a claim")]
    first = claims[0]
    names = [first.against, *(row.what.partition(", ")[2] for row in claims)]
    costs = [first.reference, *(row.value for row in claims)]
    axes.barh(names, costs, color="0.6", edgecolor="k")
    axes.invert_yaxis()
    axes.set(xlabel="a claim, median, µs")


def _pickup(axes: Any, rows: Sequence[Row]) -> None:
    samples = sorted(rows[0].samples)
    axes.step(samples, [(place + 1) / len(samples) for place in range(len(samples))], "k-", where="post")
    axes.set(xlabel="ms from the commit to the command's first instruction", ylabel="share of jobs")
    axes.set(xlim=(0, None), ylim=(0, 1.02))
    axes.grid(color="0.85")
