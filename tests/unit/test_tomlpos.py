"""Where keys stand in a TOML text."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlqd.config.tomlpos import lines

TEXT = '''\
# a comment with = and [brackets]
top = 1

[daemon]   # behind a header
"quoted key" = "a = b # no comment"
'literal' = 'C:\\'
dotted.in.depth = 2

[queues."a.b"]
text = """
first = 1
\\""" not the end
"""
other = \'\'\'
second = 2''\'\'\'
list = [ 1, # one
  [2, 3],
  { x = 4, "y" = [5,
     6] },
]
date = 1979-05-27 07:32:00

[[many]]
one = true
[[many]]
two = "é"
[many.below]
three = 3
'''


def test_a_table_that_only_its_own_tables_are_of_stands_where_the_first_of_them_does() -> None:
    known = lines("[a]\nx = 1\n\n[b.c.d]\n[b.e]\n")
    assert {path: known[path] for path in (("b",), ("b", "c"), ("b", "e"))} == {
        ("b",): 4,
        ("b", "c"): 4,
        ("b", "e"): 5,
    }


EXPECTED = {
    ("top",): 2,
    ("daemon",): 4,
    ("daemon", "quoted key"): 5,
    ("daemon", "literal"): 6,
    ("daemon", "dotted", "in", "depth"): 7,
    ("queues", "a.b"): 9,
    ("queues", "a.b", "text"): 10,
    ("queues", "a.b", "other"): 14,
    ("queues", "a.b", "list"): 16,
    ("queues", "a.b", "list", 0): 16,
    ("queues", "a.b", "list", 1, 1): 17,
    ("queues", "a.b", "list", 2, "x"): 18,
    ("queues", "a.b", "list", 2, "y", 1): 19,
    ("queues", "a.b", "date"): 21,
    ("many", 0): 23,
    ("many", 1): 25,
    ("many", 1, "two"): 26,
    ("many", 1, "below", "three"): 28,
}


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of everything in a document."""
    if path:
        yield path
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, each in below:
        yield from leaves(each, (*path, part))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_kind_of_key_is_found_on_its_line(end: str) -> None:
    found = lines(TEXT.replace("\n", end))
    assert {path: found.get(path) for path in EXPECTED} == EXPECTED


def test_everything_that_tomllib_reads_has_a_place() -> None:
    texts = [TEXT, *(path.read_text() for path in Path(__file__).parents[2].glob("**/*.toml"))]
    assert len(texts) > 2
    for text in texts:
        found = lines(text)
        implied = {("queues",), ("tool",), ("tool", "ruff", "lint"), ("tool", "hatch")}
        missing = [path for path in leaves(tomllib.loads(text)) if path not in found and path not in implied]
        # A table that only headers below it imply has no line of its own.
        assert [path for path in missing if not any(other[: len(path)] == path for other in found)] == []


_KEYS = st.text(alphabet='ab.-_"\\ é#=[', min_size=1, max_size=6)
_TEXTS = st.text(alphabet="ab\"'\\#=[]{},\n\té", max_size=12)


def _quoted(text: str) -> str:
    return '"' + "".join(f"\\u{ord(each):04x}" if each in '"\\\n\t' else each for each in text) + '"'


@given(st.dictionaries(_KEYS, _TEXTS, min_size=1, max_size=5), st.lists(_TEXTS, max_size=4))
def test_no_text_in_a_value_or_a_key_leads_it_astray(table: dict[str, str], items: list[str]) -> None:
    rows = [f"{_quoted(key)} = {_quoted(value)}" for key, value in table.items()]
    text = "\n".join(["[t]", *rows, "[u]", "items = [", *(f"  {_quoted(item)}," for item in items), "]", ""])
    assert tomllib.loads(text)["t"] == table
    found = lines(text)
    assert {key: found["t", key] for key in table} == {key: 2 + at for at, key in enumerate(table)}
    start = 4 + len(table)
    assert [found["u", "items", at] for at in range(len(items))] == [start + at for at in range(len(items))]
