"""Whose turn it is, as a pure matter of names."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlqd.model import Rules
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
    assert Head(1, b"a", paused_at, paused_until, blocked_until, 0).closed_until(100.0) == expected
