"""Lengths of time and sizes as people write them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlqd import units


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("250ms", 0.25),
        ("30s", 30),
        ("5min", 300),
        ("5m", 300),
        ("1h 30min", 5400),
        ("1h30min", 5400),
        (" 2 hours 1 second ", 7201),
        ("7d", 604_800),
        ("2w", 1_209_600),
        ("1.5h", 5400),
        (".5s", 0.5),
        ("1M", 2_629_800),
        ("1y", 31_557_600),
        ("10us", 1e-5),
        ("0s", 0),
        ("infinity", math.inf),
    ],
)
def test_a_length_of_time_is_read(text: str, seconds: float) -> None:
    assert units.duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "s",
        "30",
        "1h 30",
        "-1s",
        "+1s",
        "1e3s",
        "5 parsecs",
        "30 S",
        "nan",
        "inf",
        "1s,",
        "1_0s",
        "٣s",
    ],
)
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"length of time|unit"):
        units.duration(text)


def test_a_unit_that_lacks_is_asked_for() -> None:
    for text, words in (("30", '"30s" for seconds'), ("1h30", "each needs one"), ("1x", "month and y are")):
        with pytest.raises(ValueError, match=words):
            units.duration(text)


def test_a_number_alone_is_seconds_where_that_is_wanted() -> None:
    assert units.duration("90", bare=True) == 90
    with pytest.raises(ValueError, match="unit"):
        units.duration("1h 30", bare=True)


@pytest.mark.parametrize("text", ["9" * 1000 + "s", "1s" * 500])
def test_an_absurd_length_of_time_is_refused_in_few_words(text: str) -> None:
    with pytest.raises(ValueError, match="length of time") as refused:
        units.duration(text)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("64K", 65_536),
        ("64KiB", 65_536),
        ("64KB", 64_000),
        ("64kB", 64_000),
        ("10MB", 10_000_000),
        ("1 MiB", 1_048_576),
        ("1.5K", 1536),
        ("100", 100),
        ("100B", 100),
    ],
)
def test_a_size_is_read(text: str, count: int) -> None:
    assert units.size(text) == count


@pytest.mark.parametrize("text", ["", "K", "10XB", "-1K", "1e3", "64 K iB", "infinity", "9" * 500])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="size"):
        units.size(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.25, "250ms"),
        (2.5, "2.5s"),
        (30, "30s"),
        (90, "1min 30s"),
        (3600, "1h"),
        (3601, "1h"),
        (41_110, "11h 25min"),
        (86_400, "1d"),
        (604_800, "7d"),
        (math.inf, "infinity"),
    ],
)
def test_a_length_of_time_is_spelled(seconds: float, text: str) -> None:
    assert units.spell(seconds) == text


@given(st.floats(min_value=0.0005, max_value=1e10))
def test_what_is_spelled_can_be_read_again(seconds: float) -> None:
    # Two units at most: what is cut off is small against the rest.
    assert units.duration(units.spell(seconds)) == pytest.approx(seconds, rel=0.05, abs=0.0006)


@pytest.mark.parametrize(("count", "text"), [(0, "0B"), (10, "10B"), (65_536, "64KiB"), (1_048_576, "1MiB")])
def test_a_size_is_spelled(count: int, text: str) -> None:
    assert units.spell_size(count) == text
