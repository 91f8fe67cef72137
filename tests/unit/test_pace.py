"""How those who wait for the write lock look for it."""

from collections.abc import Iterator
from itertools import accumulate, takewhile

from sqlqd.store.pace import FIRST, LONGEST, pace


def looks(until: float) -> Iterator[tuple[float, float]]:
    """The moments of the looks of a wait with the longest first steps, each with the step before it."""
    steps = pace(lambda _, high: high)
    at = accumulate(looked := [next(steps) for _ in range(20_000)])
    return takewhile(lambda look: look[0] < until, zip(at, looked, strict=True))


def count(low: float, high: float) -> int:
    return sum(low <= at for at, _ in looks(high))


def test_no_look_is_later_than_the_longest_step_behind_another() -> None:
    assert max(step for _, step in looks(2.0)) <= LONGEST


def test_it_looks_ever_more_seldom_at_first() -> None:
    steps = [step for _, step in looks(0.05)]
    assert steps == sorted(steps)
    assert steps[0] == FIRST[1]


def test_who_was_overtaken_for_long_looks_as_often_as_those_who_begin() -> None:
    assert count(0.1, 0.2) > 5 * count(0.025, 0.05)
    assert max(step for at, step in looks(0.5) if at > 0.06) <= FIRST[1]


def test_a_lock_that_somebody_keeps_is_looked_at_seldom_again() -> None:
    assert count(1.0, 1.1) <= 1.1 * 0.1 / LONGEST
