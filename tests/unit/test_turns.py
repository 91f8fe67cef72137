"""Whose turn it is, as a pure matter of names."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlqd.model import Breaker, Rate, Rules
from sqlqd.store.turns import LONGEST_BLOCK, Head, Turns

names = st.sets(st.text("abü\U0001f980", min_size=1, max_size=3), max_size=12)


class Table:
    """The names in a database, and how often it was asked."""

    def __init__(self, queues: set[str]) -> None:
        self._queues = sorted(queue.encode() for queue in queues)
        self.asked = 0

    def seek(self, name: str) -> tuple[object, ...] | None:
        self.asked += 1
        wanted = name.encode()
        found = next((queue for queue in self._queues if queue >= wanted), None)
        return None if found is None else (1, found, None, None, None, None)


def order(served: set[str], there: set[str], after: str) -> tuple[list[str], int]:
    table = Table(there)
    turns = Turns([Rules(name) for name in served])
    return [rules.name for rules, _ in turns.heads(table.seek, after)], table.asked


@given(served=names, there=names, after=st.text("abü\U0001f980", max_size=3))
def test_each_served_queue_that_is_there_has_one_turn_behind_the_last(
    served: set[str], there: set[str], after: str
) -> None:
    found, asked = order(served, there, after)
    both = sorted(served & there, key=str.encode)
    behind = [name for name in both if name.encode() > after.encode()]
    assert found == behind + [name for name in both if name not in behind]
    assert asked <= len(served) + 2
    assert asked <= 2 * len(there) + 2


def test_a_thousand_strange_queues_cost_no_more_than_one() -> None:
    found, asked = order({"m"}, {f"a{number}" for number in range(1000)} | {"m"}, "")
    assert (found, asked) == (["m"], 1)


def test_a_thousand_empty_queues_cost_no_more_than_one() -> None:
    found, asked = order({f"a{number}" for number in range(1000)} | {"m"}, {"m"}, "")
    assert found == ["m"]
    assert asked <= 3


def test_a_queue_whose_name_is_not_text_is_leapt_over() -> None:
    answers = {"a": (1, b"a\xff", None, None, None, None), "b": (2, b"b", None, None, None, None)}
    turns = Turns([Rules("a"), Rules("b")])
    assert [rules.name for rules, _ in turns.heads(answers.get)] == ["b"]


@pytest.mark.parametrize(
    ("paused_at", "paused_until", "blocked_until", "expected"),
    [
        (None, None, None, None),
        (1.0, None, None, math.inf),
        (1.0, 150.0, None, 150.0),
        (1.0, 100.0, None, None),
        (None, 150.0, None, None),
        (None, None, 160.0, 160.0),
        (None, None, 100.0, None),
        (1.0, 150.0, 160.0, 160.0),
        (1.0, 170.0, 160.0, 170.0),
        (1.0, None, 160.0, math.inf),
        (None, None, 100.0 + LONGEST_BLOCK + 1, None),
        (1.0, 150.0, 100.0 + LONGEST_BLOCK + 1, 150.0),
    ],
)
def test_until_when_a_queue_gives_out_nothing(
    paused_at: float | None, paused_until: float | None, blocked_until: float | None, expected: float | None
) -> None:
    assert head(paused_at, paused_until, blocked_until).closed_until(100.0, Rules("a")) == expected


def head(
    paused_at: float | None = None,
    paused_until: float | None = None,
    blocked_until: float | None = None,
    *,
    rate_at: float | None = None,
    failures: int = 0,
    broken_until: float | None = None,
) -> Head:
    return Head(
        1, b"a", paused_at, paused_until, blocked_until, 0, rate_at, failures, broken_until, broken_until
    )


@pytest.mark.parametrize(
    ("rate_at", "burst", "expected", "starts"),
    [
        (None, 1, None, 1),
        (100.0, 1, None, 1),
        (104.0, 1, 104.0, 0),
        (110.0, 1, 110.0, 0),
        # Nobody starts ahead of the clock: it was stepped back.
        (111.0, 1, None, 1),
        (110.0, 3, None, 2),
        (120.0, 3, None, 1),
        (125.0, 3, 105.0, 0),
        (130.0, 3, 110.0, 0),
        (131.0, 3, None, 3),
    ],
)
def test_a_rate_spaces_starts(rate_at: float | None, burst: int, expected: float | None, starts: int) -> None:
    rules = Rules("a", rate=Rate(10.0, burst))
    found = head(rate_at=rate_at)
    closed = found.closed_until(100.0, rules)
    assert closed == (None if expected is None else pytest.approx(expected, abs=1e-5))
    assert found.starts(100.0, rules) == starts


@pytest.mark.parametrize(
    ("failures", "until", "expected"),
    [
        (5, 130.0, 130.0),
        (9, 130.0, 130.0),
        (4, 130.0, None),
        (5, 99.0, None),
        (5, None, None),
        (5, 900.0, None),
    ],
)
def test_a_breaker_holds_after_failures_in_a_row(
    failures: int, until: float | None, expected: float | None
) -> None:
    broken = head(failures=failures, broken_until=until)
    assert broken.closed_until(100.0, Rules("a", breaker=Breaker(5, 60.0))) == expected
    assert broken.closed_until(100.0, Rules("a")) is None
