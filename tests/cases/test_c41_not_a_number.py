"""What is no JSON is refused with its place; what is JSON is stored as it was written."""

from pathlib import Path

import pytest

from tests.support.shell import Desk

GOOD = [
    '{"a":1e999}',
    '{"a":12345678901234567890123}',
    ' {"b":1,"a":1.0}\n',
    "-0",
    '"NaN"',
    "[" * 500 + "]" * 500,
]
BAD = [
    ('{"a":NaN}', "line 1 column 6"),
    ('{"a":-Infinity}', "line 1 column 6"),
    ('{"a":\n1,}', "line 2 column"),
    ("[1,]", "line 1 column"),
    ("\ufeff{}", "line 1 column 1"),
    ("", "line 1 column 1"),
    ("[" * 60_000, "deep"),
]


@pytest.mark.case("C41")
@pytest.mark.parametrize("payload", GOOD)
def test_valid_text_is_stored_unchanged(tmp_path: Path, payload: str) -> None:
    desk = Desk(tmp_path)
    job = desk.enqueue("json", payload)
    assert desk.good("show", job, "--json").json["payload"] == payload


@pytest.mark.case("C41")
@pytest.mark.parametrize(("payload", "place"), BAD)
def test_what_is_no_json_is_refused_with_its_place(tmp_path: Path, payload: str, place: str) -> None:
    desk = Desk(tmp_path)
    result = desk.run("enqueue", "json", "-", stdin=payload.encode())
    assert (result.code, result.out) == (2, "")
    assert place in result.err
    assert result.err.count("\n") == 1
    assert not desk.database.exists()


@pytest.mark.case("C41")
def test_a_queue_of_text_takes_it_as_it_is(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.enqueue("mail", '{"a":NaN}')
    assert desk.payloads("mail") == ['{"a":NaN}']
