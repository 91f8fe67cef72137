"""The measurements run, and say what each was measured against."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.bench.rows import Row, in_turns, percentile, spread

BENCH = Path(__file__).parents[2] / "scripts" / "bench"


@pytest.mark.timeout(120)
def test_a_group_tells_a_document_for_each_row() -> None:
    words = [str(BENCH), "--only", "enqueue", "--only", "claims", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["what"] for row in rows] == [
        "enqueue of one job",
        "claim + finish without a command, 2 processes",
    ]
    for row in rows:
        assert row["reference"] > 0
        assert row["measured"] == pytest.approx(row["value"] / row["reference"], abs=1e-3)


def test_a_group_that_there_is_not_is_named() -> None:
    done = subprocess.run([str(BENCH), "--only", "hopes"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "throughput, claims" in done.stderr


@pytest.mark.parametrize(
    ("value", "reference", "goal", "more", "met"),
    [
        (80.0, 100.0, 0.8, True, True),
        (79.0, 100.0, 0.8, True, False),
        (4.6, 1.0, 4.5, False, False),
        (2.9, None, 3.0, False, True),
    ],
)
def test_a_goal_is_for_the_ratio_or_for_a_figure_of_its_own(
    value: float, reference: float | None, goal: float, *, more: bool, met: bool
) -> None:
    row = Row("what", value, "ms", "that", reference, goal, more)
    assert row.met is met
    assert ("MISSED" in row.text()) is not met


def test_rounds_are_taken_in_turns() -> None:
    order: list[str] = []

    def noted(name: str) -> float:
        order.append(name)
        return float(len(order))

    assert in_turns(2, lambda: noted("a"), lambda: noted("b")) == [[1.0, 3.0], [2.0, 4.0]]
    assert order == ["a", "b", "a", "b"]
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert spread([1.0]) == 0.0
    assert spread([1.0, 1.0, 1.0]) == 0.0
