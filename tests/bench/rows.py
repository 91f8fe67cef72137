"""What a measurement says: ratios of things that were measured in turns, in one run."""

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    what: str
    value: float
    unit: str
    against: str = ""
    """What it was measured against, or "" where the figure stands by itself."""
    reference: float | None = None
    ratio: float | None = None
    """The median of the rounds' ratios: each round's figures are divided by figures of that round."""
    goal: float | None = None
    """None where a figure is only told."""
    more: bool = False
    """Whether more is better."""
    of_value: bool = False
    """Whether the goal is for the value although there is a ratio."""
    spread: float = 0.0
    """Between rounds, of the ratio where there is one, else of the value: the middle half over the median."""
    samples: tuple[float, ...] = ()
    """What a distribution is drawn from."""

    @property
    def measured(self) -> float:
        """What the goal is for."""
        return self.value if self.ratio is None or self.of_value else self.ratio

    @property
    def met(self) -> bool | None:
        """Whether the goal was reached; None without one."""
        if self.goal is None:
            return None
        return self.measured >= self.goal if self.more else self.measured <= self.goal

    def document(self) -> dict[str, object]:
        """For a line of JSON."""
        return {**asdict(self), "measured": self.measured, "met": self.met}

    def cells(self) -> tuple[str, ...]:
        """What, value, reference, ratio, spread, goal, verdict."""
        reference = "" if self.reference is None else f"{self.against}: {figure(self.reference)} {self.unit}"
        of = "" if self.ratio is None or not self.of_value else f" {self.unit}"
        goal = "" if self.goal is None else f"{'≥' if self.more else '≤'} {self.goal:g}{of}"
        return (
            self.what,
            f"{figure(self.value)} {self.unit}",
            reference,
            "" if self.ratio is None else f"{self.ratio:.2f}",
            f"±{self.spread:.0%}" if self.spread else "",
            goal,
            {True: "met", False: "MISSED", None: ""}[self.met],
        )

    def text(self) -> str:
        """As a line of a table for people."""
        widths = (62, 15, 38, 6, 6, 11, 6)
        return " ".join(f"{cell:<{width}}" for cell, width in zip(self.cells(), widths, strict=True)).rstrip()


def figure(value: float) -> str:
    """Three digits that count, and never an exponent."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def compared(
    what: str,
    unit: str,
    mine: Sequence[float],
    against: str,
    theirs: Sequence[float],
    *,
    goal: float | None,
    more: bool,
    of_value: bool = False,
) -> Row:
    """A row of two things that were measured in the same rounds."""
    ratios = [one / other for one, other in zip(mine, theirs, strict=True)]
    return Row(
        what,
        statistics.median(mine),
        unit,
        against,
        statistics.median(theirs),
        statistics.median(ratios),
        goal,
        more,
        of_value,
        spread(ratios),
    )


def alone(what: str, unit: str, values: Sequence[float], *, goal: float | None, more: bool = False) -> Row:
    """A row whose goal is a figure of its own."""
    return Row(what, statistics.median(values), unit, goal=goal, more=more, spread=spread(values))


def spread(values: Sequence[float]) -> float:
    """The middle half of the values, as a part of their median."""
    if len(values) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle if middle else 0.0


def in_turns(rounds: int, *measures: Callable[[], float], warm: bool = True) -> list[list[float]]:
    """Each measured once a round, so that a machine that slows down slows all of them.

    Every second round goes the other way about, so that nobody always comes first; and a round before all
    others is not counted.
    """
    values: list[list[float]] = [[] for _ in measures]
    if warm:
        for measure in measures:
            measure()
    for number in range(rounds):
        pairs = list(zip(values, measures, strict=True))
        for kept, measure in pairs if number % 2 == 0 else reversed(pairs):
            kept.append(measure())
    return values


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which that share of them lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def line(group: str, busy: float, row: Row) -> str:
    """A row as a JSON document."""
    return json.dumps({"group": group, "busy_before": round(busy, 3), **row.document()}, ensure_ascii=False)
