"""What a measurement says: a ratio of two things that were measured in turns, in one run."""

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
    against: str
    """What it was measured against, or "" where the goal is a figure of its own."""
    reference: float | None
    goal: float
    more: bool
    """Whether more is better. With a reference the goal is for the ratio, else for the value."""
    spread: float = 0.0
    """Of the value between rounds: the middle half, as a part of the median."""

    @property
    def measured(self) -> float:
        """What the goal is for."""
        return self.value if self.reference is None else self.value / self.reference

    @property
    def met(self) -> bool:
        """Whether the goal was reached."""
        return self.measured >= self.goal if self.more else self.measured <= self.goal

    def line(self) -> str:
        """As a JSON document."""
        return json.dumps({**asdict(self), "measured": round(self.measured, 4), "met": self.met})

    def text(self) -> str:
        """As a line of a table for people."""
        kind = "ratio" if self.reference is not None else self.unit
        sign = "≥" if self.more else "≤"
        against = f"{self.against}: {self.reference:,.4g} {self.unit}" if self.reference is not None else ""
        value = f"{self.value:,.4g} {self.unit} ±{self.spread:.0%}"
        verdict = "met" if self.met else "MISSED"
        found = f"{self.measured:8.3f} {kind} {sign} {self.goal:g}"
        return f"{self.what:<46} {value:<24} {against:<40} {found}  {verdict}"


def spread(values: Sequence[float]) -> float:
    """The middle half of the values, as a part of their median."""
    if len(values) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(values, n=4)
    return (high - low) / middle if middle else 0.0


def in_turns(rounds: int, *measures: Callable[[], float]) -> list[list[float]]:
    """Each measured once a round, so that a machine that slows down slows all of them."""
    values: list[list[float]] = [[] for _ in measures]
    for _ in range(rounds):
        for kept, measure in zip(values, measures, strict=True):
            kept.append(measure())
    return values


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which that share of them lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
