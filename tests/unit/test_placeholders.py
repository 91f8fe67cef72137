"""Parts of a job in a command's arguments: filled in once, each inside its own argument."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlqd.model import Job
from sqlqd.placeholders import Lacking, fields, filled, problems


def job(payload: str = "", **more: object) -> Job:
    facts = {"id": "f" * 32, "queue": "mail", "priority": 0, "run_at": 0.0, "attempts": 3} | more
    rest = {"max_attempts": None, "key": None, "created_at": 0.0, "last_error": None}
    return Job(payload=payload, **facts, **rest)  # type: ignore[arg-type]  # a test's own fields


PAYLOAD = {
    "to": "a b; rm -rf /",
    "n": 3,
    "share": 0.5,
    "yes": True,
    "list": [1, "x"],
    "none": None,
    "again": "{id}{payload.to}",
    "dash": "-rf",
}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("plain", "plain"),
        ("{id}/{queue}#{attempt}", f"{'f' * 32}/mail#3"),
        ("--to={payload.to}", "--to=a b; rm -rf /"),
        ("{payload.n} {payload.share} {payload.yes}", "3 0.5 true"),
        ("{payload.list}", '[1,"x"]'),
        ("{payload.again}", "{id}{payload.to}"),
        ("{payload.dash}", "-rf"),
        ("{payload}", json.dumps(PAYLOAD)),
        ("{}", "{}"),
        ("{print $1} {{id}}", "{print $1} {" + "f" * 32 + "}"),
    ],
)
def test_each_is_filled_in_once(word: str, expected: str) -> None:
    assert filled(["prog", word], job(json.dumps(PAYLOAD))) == ["prog", expected]


@given(st.text())
def test_whatever_a_payload_holds_stays_in_its_argument(payload: str) -> None:
    assert filled(["prog", "<{payload}>", "last"], job(payload)) == ["prog", f"<{payload}>", "last"]
    assert filled(["prog", "{payload.x}"], job(json.dumps({"x": payload}))) == ["prog", payload]


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ("{}", 'no field "to"'),
        ('{"to": null}', 'no field "to"'),
        ("[1]", 'no field "to"'),
        ("hello", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        (r'{"to": "\ud800"}', "half a character"),
        (r'{"to": "\udc80"}', "half a character"),
        (r'{"to": ["\ud83d"]}', "half a character"),
    ],
)
def test_what_a_payload_lacks_is_said(payload: str, said: str) -> None:
    with pytest.raises(Lacking, match=said):
        filled(["prog", "{payload.to}"], job(payload))
    assert filled(["prog", "{id}"], job(payload))


@pytest.mark.parametrize(
    ("command", "where"),
    [
        (("prog", "{payload.to}", "{id}", "{}", "{ids}", "{x}"), []),
        ("echo $SQLQD_PAYLOAD {}", []),
        ("awk '{print $1}'", []),
        ("send {payload}", [None]),
        ("send {payload.to}", [None]),
        (("{payload}",), [0]),
        (("prog", "{payload.}"), [1]),
        (("prog", "x", "{id.x}"), [2]),
        (("prog", "{payload[0]}"), [1]),
        (("prog", "{payload!r}"), [1]),
    ],
)
def test_what_cannot_be_filled_in_is_found_beforehand(
    command: str | tuple[str, ...], where: list[int | None]
) -> None:
    assert [number for number, _ in problems(command)] == where


def test_fields_are_named() -> None:
    assert fields(("prog", "{payload.to}{payload.n}", "{id}", "{payload}")) == {"to", "n"}
    assert fields("sh {payload.to}") == frozenset()
