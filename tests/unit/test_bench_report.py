"""What the bench makes of figures: ratios within rounds, their spread, verdicts, and a page's table."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.peers import MissedJobsError, expect
from tests.bench.report import BEGIN, END, between, busy, described, head, pictures, processors, table
from tests.bench.rows import Row, alone, compared, figure, in_turns, line, percentile, spread


def test_a_ratio_is_of_figures_of_one_round() -> None:
    # The machine slows down fourfold from round to round: the ratio stands still, and so does its spread.
    row = compared("ours", "/s", [80.0, 40.0, 20.0], "theirs", [100.0, 50.0, 25.0], goal=0.8, more=True)
    assert row.ratio == pytest.approx(0.8)
    assert row.spread == 0.0
    assert (row.value, row.reference) == (40.0, 50.0)
    moved = compared("ours", "/s", [80.0, 90.0, 100.0], "theirs", [100.0] * 3, goal=None, more=True)
    assert moved.spread == pytest.approx((0.95 - 0.85) / 0.9)


def test_rounds_that_do_not_pair_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        compared("ours", "/s", [1.0, 2.0], "theirs", [1.0], goal=None, more=True)


@pytest.mark.parametrize(
    ("value", "reference", "goal", "more", "met"),
    [
        (80.0, 100.0, 0.8, True, True),
        (79.0, 100.0, 0.8, True, False),
        (4.6, 1.0, 4.5, False, False),
        (2.9, None, 3.0, False, True),
        (2.9, None, None, False, None),
    ],
)
def test_a_goal_is_for_the_ratio_or_for_a_figure_of_its_own(
    value: float, reference: float | None, goal: float | None, *, more: bool, met: bool | None
) -> None:
    if reference is None:
        row = alone("what", "ms", [value], goal=goal, more=more)
    else:
        row = compared("what", "ms", [value], "that", [reference], goal=goal, more=more)
    assert row.met is met
    assert ("MISSED" in row.text()) is (met is False)


def test_a_goal_may_be_for_the_value_beside_a_ratio() -> None:
    row = compared("memory", "MiB", [39.0], "huey", [20.0], goal=40.0, more=False, of_value=True)
    assert row.measured == 39.0
    assert row.met
    assert "≤ 40 MiB" in row.cells()


def test_rounds_are_taken_in_turns_from_either_end_after_one_that_does_not_count() -> None:
    order: list[str] = []

    def noted(name: str) -> float:
        order.append(name)
        return float(len(order))

    assert in_turns(2, lambda: noted("a"), lambda: noted("b")) == [[3.0, 6.0], [4.0, 5.0]]
    assert order == ["a", "b", "a", "b", "b", "a"]
    order.clear()
    in_turns(1, lambda: noted("a"), warm=False)
    assert order == ["a"]


def test_spread_and_percentiles() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert spread([1.0]) == 0.0
    assert spread([1.0, 1.0, 1.0]) == 0.0
    assert spread([8.0, 10.0, 12.0]) == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("value", "text"), [(12345.6, "12,346"), (99.95, "100"), (0.0123, "0.0123"), (2.877, "2.88"), (0.0, "0")]
)
def test_figures_have_three_digits_and_no_exponent(value: float, text: str) -> None:
    assert figure(value) == text


@pytest.mark.parametrize("ran", [0, 99, 101])
def test_whoever_ran_another_number_of_jobs_has_no_rate(ran: int) -> None:
    with pytest.raises(MissedJobsError, match=f"nq ran {ran} of 100 jobs"):
        expect("nq", ran, 100)
    expect("nq", 100, 100)


def test_a_page_keeps_what_stands_around_the_markers() -> None:
    page = f"# Title\n\n{BEGIN}\nold\n{END}\n\nend\n"
    written = between(page, "new")
    assert written == f"# Title\n\n{BEGIN}\n\nnew\n\n{END}\n\nend\n"
    assert between(written, "new") == written


@pytest.mark.parametrize("page", ["", BEGIN, f"{END} {BEGIN}", f"{BEGIN} {BEGIN} {END}"])
def test_a_page_without_its_markers_is_refused(page: str) -> None:
    with pytest.raises(ValueError, match="each once"):
        between(page, "new")


def test_the_table_says_from_where_its_figures_are() -> None:
    rows = [Row("a | b", 2.0, "ms", goal=1.0), Row("told", 3.0, "ms")]
    text = table({"date": "2026-01-02", "kernel": "Linux"}, [("pickup", 0.5, rows)], ["nq (apt install nq)"])
    assert text.startswith("2026-01-02, kernel: Linux.")
    assert r"| a \| b | 2 ms |  |  |  | ≤ 1 | MISSED |" in text.splitlines()
    assert "| told | 3 ms |  |  |  |  |  |" in text.splitlines()
    assert "before each group: pickup 50%." in text
    assert "not measured: nq (apt install nq)." in text


def test_pictures_are_named_from_where_the_page_is() -> None:
    drawn = {"By workers": Path("docs/performance/workers.png")}
    assert pictures(drawn, Path("docs")).strip() == "![By workers](performance/workers.png)"
    assert pictures({}, Path("docs")) == ""


def test_the_page_of_figures_has_its_markers() -> None:
    page = Path(__file__).parents[2] / "docs" / "performance.md"
    assert "\nnew\n" in between(page.read_text(encoding="utf-8"), "new")


def test_the_head_names_the_machine() -> None:
    known = head()
    assert set(known) >= {"date", "processors", "kernel", "python", "sqlite", "temporary folder"}
    assert all(known.values())
    assert known["kernel"] in described(known)


def test_a_line_is_a_document_with_its_group_and_how_busy_it_was() -> None:
    told = json.loads(line("claims", 0.1234, Row("what", 2.0, "ms", goal=3.0)))
    assert (told["group"], told["busy_before"], told["met"], told["measured"]) == ("claims", 0.123, True, 2.0)


def test_how_busy_the_processors_are_is_a_part_of_one_and_seen() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as burns:
        share = busy(0.5)
        burns.kill()
    assert 0.3 / processors() < share <= 1.0
