"""Choosing jobs by ids and prefixes."""

from typing import Any

import pytest

from sqlqd.cli.failure import Refused
from sqlqd.cli.selection import is_empty, missing, no_such, parse_ids, read_ids, selection
from sqlqd.model import Selection, State

NOTHING: dict[str, Any] = {
    "queue": None,
    "states": (),
    "key": None,
    "error": None,
    "older_than": None,
    "newer_than": None,
    "limit": None,
}


def test_options_become_a_selection() -> None:
    options = NOTHING | {"queue": "mail", "states": ("dead", "ready"), "older_than": 60.0, "limit": 3}
    assert selection(options, ["abcdef"]) == Selection(
        ids=("abcdef",), queue="mail", states=frozenset({State.DEAD, State.READY}), older_than=60.0, limit=3
    )


def test_a_limit_alone_selects_nothing() -> None:
    assert is_empty(selection(NOTHING, []))
    assert is_empty(selection(NOTHING | {"limit": 5}, []))
    for name, value in (("queue", "q"), ("states", ("dead",)), ("older_than", 0.0), ("error", "x")):
        assert not is_empty(selection(NOTHING | {name: value}, []))
    assert not is_empty(selection(NOTHING, ["abcdef"]))


def test_ids_come_one_a_line() -> None:
    assert parse_ids(b"") == []
    assert parse_ids(b"\n \n\r\n") == []
    assert parse_ids("abc\n  def \r\nan id of one's own\né".encode()) == [
        "abc",
        "def",
        "an id of one's own",
        "é",
    ]
    with pytest.raises(Refused, match="UTF-8"):
        parse_ids(b"\xff")


def test_an_id_that_is_named_twice_counts_once() -> None:
    assert read_ids(["b", "a", "b"]) == ["b", "a"]
    with pytest.raises(Refused, match="UTF-8"):
        read_ids(["\udcff"])


def test_ids_and_prefixes_that_nothing_answers_to_are_found() -> None:
    found = ["aaaaaa11", "bbbbbb22"]
    assert missing(["aaaaaa", "bbbbbb22"], found) == []
    assert missing(["aaaaaa12", "cccccc", "bbbbbb2"], found) == ["aaaaaa12", "cccccc"]
    assert missing(["x"], []) == ["x"]


def test_not_more_are_named_than_a_line_holds() -> None:
    assert no_such(["abcdef", "ghijkl"]) == "no such job: abcdef, ghijkl"
    assert no_such([str(100_000 + n) for n in range(7)]).endswith("and 2 more")
    assert no_such(["abcde"]).endswith("at least 6 characters")
