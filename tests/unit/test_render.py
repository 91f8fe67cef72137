"""A record is one line whatever its fields hold."""

import json
import math
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlqd.events import EVENTS
from sqlqd.log.render import MARK, MAX_LINE, as_json, as_text

CORE = {"timestamp": "2026-12-01T03:41:28.691Z", "level": "info", "event": "job.output", "pid": 7}
HOSTILE = '\n{"level":"info","event":"forged"}\r\x1b[2J\x00\u2028\u2029\x85\x9b31m\u202e\u2066\ufeff\ud800\t'
ENDS_A_LINE = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"

anything = st.one_of(
    st.text(st.characters(exclude_categories=())), st.integers(), st.floats(), st.booleans(), st.binary()
)


def test_json_gives_back_what_was_logged() -> None:
    line = as_json({**CORE, "line": HOSTILE, "exit_code": 7})
    assert json.loads(line) == {**CORE, "line": HOSTILE, "exit_code": 7}
    assert len(line.splitlines()) == 1
    assert "\x1b" not in line


@given(st.dictionaries(st.text(max_size=20), anything, max_size=8))
def test_any_fields_make_one_valid_line_of_bounded_length(fields: dict[str, Any]) -> None:
    line = as_json({**CORE, **fields})
    assert isinstance(json.loads(line), dict)
    assert len(line.splitlines()) == 1
    assert len(line.encode()) < MAX_LINE


@given(st.text(st.characters(exclude_categories=())), st.text())
def test_text_for_people_is_one_line_too(queue: str, line: str) -> None:
    shown = as_text({**CORE, "queue": queue, "line": line, "stream": "stdout"}, EVENTS["job.output"].wording)
    assert not any(unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp") for each in shown)
    assert len(shown.encode()) < MAX_LINE


@pytest.mark.parametrize("text", ["x" * 200_000, '"' * 200_000, "\0" * 200_000, "ü€𝄞" * 50_000])
def test_the_longest_value_is_cut_with_a_mark(text: str) -> None:
    record = json.loads(as_json({**CORE, "line": text, "reason": "short", "queue": "q"}))
    assert record["line"].endswith(MARK)
    assert text.startswith(record["line"].removesuffix(MARK))
    assert len(record["line"]) > 500
    assert (record["reason"], record["queue"]) == ("short", "q")


def test_several_long_values_share_the_room() -> None:
    record = json.loads(as_json({**CORE, "line": "a" * 9000, "reason": "b" * 9000, "queue": "c" * 9000}))
    assert all(len(record[key]) > 20 for key in ("line", "reason", "queue"))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_json_has_no_number_for_is_text(value: float) -> None:
    assert json.loads(as_json({**CORE, "duration_seconds": value}))["duration_seconds"] == str(value)


def test_a_sentence_names_the_fields_that_it_lacks() -> None:
    shown = as_text({**CORE, "reason": "exit 7", "attempt": 3}, "{queue} failed: {reason}")
    assert shown == "03:41:28 info    ? failed: exit 7  attempt=3"
