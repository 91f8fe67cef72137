"""The short way of `enqueue` and `run`, and click: whatever the short way understands, both do alike."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sqlqd.cli import entering, running, short, verbs
from sqlqd.cli.options import ENQUEUE, RUN, WHERE, Option
from sqlqd.cli.session import Session

Understood = tuple[dict[str, str], dict[str, Any]]

PLAIN = {"int": "7", "Whole": "7", "Word": "next", "duration": "1min", "moment": "2030-12-24T18:00Z"}
NAMES = tuple(name for option in (*WHERE, *ENQUEUE) for name in option.names)
VALUES = (
    *("", "-", "--", "-5", "5", "+5", " 5", "1_0", "٣", "0x1", "1e3", "101", "1min", "infinity", "next"),
    *("Next", "a b", "a=b", "=", "mail", "enqueue", "ä", "\udcff", "2030-12-24T18:00", "x\n", "-x", "--key"),
    *("-cx", "-ic"),
)
ODD = st.one_of(
    st.sampled_from(NAMES),
    st.sampled_from(VALUES),
    st.sampled_from(("enqueue", "mail", "--help", "-h", "--version", "--pri", "--keys", "status")),
    st.builds("{}={}".format, st.sampled_from(NAMES), st.sampled_from(VALUES)),
    st.text(max_size=4),
)


def spellings(option: Option) -> list[list[str]]:
    """An option as most people give it."""
    if option.read is None:
        return [[name] for name in option.names]
    value = PLAIN.get(getattr(option.read, "__name__", type(option.read).__name__), "some-text")
    return [*([name, value] for name in option.names), [f"--{option.name}={value}"]]


def words(*options: Option, most: int) -> st.SearchStrategy[list[str]]:
    """Pieces of a command line in any order, of which at most one is odd."""
    plain = st.lists(st.sampled_from([one for option in options for one in spellings(option)]), max_size=most)
    odd = st.lists(ODD.map(lambda word: [word]), max_size=1)
    pieces = st.tuples(plain, odd).flatmap(lambda both: st.permutations([*both[0], *both[1]]))
    return pieces.map(lambda found: [word for piece in found for word in piece])


def by_itself(line: Sequence[str]) -> Understood | None:
    session = Session()
    try:
        _, given = short.read(session, line)
    except ValueError:
        return None
    return session.chosen, given


def by_click(line: Sequence[str]) -> Understood | None:
    caught: list[Understood] = []

    def perform(session: Session, **found: Any) -> int:
        caught.append((session.chosen, found))
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entering, "enqueue", perform)
        patch.setattr(running, "run", perform)
        verbs.execute(list(line))
    return caught[0] if caught else None


@given(
    words(WHERE[0], most=2),
    words(*ENQUEUE, WHERE[0], most=6),
    st.sampled_from(([], ["mail"], ["mail", "x"], ["--", "mail", "-"])),
)
@example([], ["mail", "--", "--key"], [])
@example(["-c", "a"], ["mail", "-", "--config", "b"], [])
@example(["--user"], ["--user"], ["mail"])
def test_what_the_short_way_understands_click_does_too(
    before: list[str], behind: list[str], places: list[str]
) -> None:
    line = [*before, "enqueue", *behind, *places]
    found = by_itself(line)
    assert found is None or found == by_click(line)


@pytest.mark.parametrize("option", [*WHERE, *ENQUEUE], ids=lambda option: option.name)
def test_each_option_goes_the_short_way_where_it_is_plain(option: Option) -> None:
    for spelled in spellings(option):
        for line in (["enqueue", "mail", "x", *spelled], ["enqueue", *spelled, "mail", "x"]):
            found = by_itself(line)
            assert found is not None, line
            assert found == by_click(line)


@pytest.mark.parametrize(
    "line", [["--help"], ["mail", "-h"], [], ["mail", "a", "b"], ["mail", "--priority", "x"]]
)
def test_help_and_mistakes_are_left_to_click(line: list[str]) -> None:
    assert by_itself(["enqueue", *line]) is None


@pytest.mark.parametrize("option", [*WHERE, *RUN], ids=lambda option: option.name)
def test_each_option_of_run_goes_the_short_way(option: Option) -> None:
    for spelled in spellings(option):
        found = by_itself(["run", *spelled])
        assert found is not None, spelled
        assert found == by_click(["run", *spelled])


@pytest.mark.parametrize("line", [["--help"], ["now"], ["--workers", "3"], ["--lines"], ["run"], ["enqueue"]])
def test_what_run_does_not_know_is_left_to_click(line: list[str]) -> None:
    assert by_itself(["run", *line]) is None
