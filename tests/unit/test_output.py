"""Lines and the tail of what a command writes, within bounds."""

from hypothesis import given
from hypothesis import strategies as st

from sqlqd.command.output import BURST, CUT, KEPT, LONGEST_LINE, Budget, Line, Lines, Tail


def lines_of(*chunks: bytes, lines: Lines | None = None) -> list[str]:
    lines = lines or Lines("stdout", Budget(0.0))
    found = [line for chunk in chunks for line in lines.feed(chunk)]
    return [line.text for line in (*found, *lines.finish())]


def test_lines_are_put_together_from_pieces() -> None:
    assert lines_of(b"on", b"e\ntw", b"o\n\nthree") == ["one", "two", "", "three"]


def test_a_character_between_two_reads_stays_whole() -> None:
    emoji = "😀".encode()
    for cut in range(1, 4):
        assert lines_of(b"a" + emoji[:cut], emoji[cut:] + b"\n") == ["a😀"]


def test_what_is_not_utf8_is_replaced() -> None:
    assert lines_of(b"\210\377ok\n") == ["\ufffd\ufffdok"]


def test_a_carriage_return_at_the_end_is_no_part_of_a_line() -> None:
    assert lines_of(b"one\r\ntwo\rthree\r\n") == ["one", "two\rthree"]


def test_a_long_line_is_cut_and_the_next_is_whole() -> None:
    long = b"x" * 10_000_000
    for chunks in ((long + b"\nnext\n",), (long, b"\nnext\n"), (long[:3000], long, b"x\nnext\n")):
        first, second = lines_of(*chunks)
        assert first == "x" * LONGEST_LINE + CUT
        assert second == "next"


def test_a_cut_goes_through_no_character() -> None:
    (line,) = lines_of("€".encode() * 2000 + b"\n")
    assert line == "€" * (LONGEST_LINE // 3) + CUT


def test_a_line_of_just_the_length_is_whole() -> None:
    assert lines_of(b"x" * LONGEST_LINE + b"\n") == ["x" * LONGEST_LINE]


def test_too_many_lines_are_passed_over_and_counted() -> None:
    lines = Lines("stdout", Budget(0.0))
    found = [*lines.feed(b"y\n" * 1_000_000), *lines.finish()]
    assert found[:BURST] == [Line("stdout", "y")] * BURST
    assert found[BURST:] == [Line("stdout", "", passed_over=1_000_000 - BURST)]


def test_after_a_storm_lines_come_again_and_the_gap_is_told_before() -> None:
    budget = Budget(0.0)
    lines = Lines("stdout", budget)
    list(lines.feed(b"y\n" * (BURST + 10) + b"half"))
    budget.refill(1.0)
    assert list(lines.feed(b" a line\nwhole\n")) == [
        Line("stdout", "", passed_over=11),
        Line("stdout", "whole"),
    ]


@given(st.lists(st.binary(max_size=50)), st.booleans())
def test_every_line_is_either_told_or_counted(chunks: list[bytes], scarce: bool) -> None:  # noqa: FBT001 - drawn
    budget = Budget(0.0)
    for _ in range(BURST - 2 if scarce else 0):
        budget.take()
    lines = Lines("stdout", budget)
    found = [line for chunk in chunks for line in lines.feed(chunk)] + list(lines.finish())
    data = b"".join(chunks)
    expected = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    told = [line for line in found if not line.passed_over]
    assert len(told) + sum(line.passed_over for line in found) == expected


def test_the_tail_of_little_is_all_of_it() -> None:
    tail = Tail()
    tail.feed(b"\210one\n")
    tail.feed(b"two\0\n")
    assert tail.text() == "\ufffdone\ntwo\\u0000\n"


def test_the_tail_of_much_says_how_much_there_was() -> None:
    tail = Tail()
    for _ in range(100):
        tail.feed(b"x" * 65_536)
    tail.feed(b"the end\n")
    text = tail.text()
    assert text.startswith("[the end of 6553608 bytes of output]\n")
    assert text.endswith("xthe end\n")
    assert len(text.encode()) <= KEPT


@given(st.lists(st.binary(max_size=5000), max_size=10))
def test_a_tail_is_always_fit_to_be_stored(chunks: list[bytes]) -> None:
    tail = Tail()
    for chunk in chunks:
        tail.feed(chunk)
    text = tail.text()
    assert "\0" not in text
    assert len(text.encode()) <= KEPT


def test_the_tail_of_nothing_but_nul_fits() -> None:
    tail = Tail()
    tail.feed(b"\0" * 20_000)
    assert len(tail.text().encode()) <= KEPT
    assert tail.text().endswith("\\u0000")
