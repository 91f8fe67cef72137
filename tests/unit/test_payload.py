"""What may be a payload."""

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlqd.payload import PayloadRefused, accept

GOOD = [
    "{}",
    " [1, 2]\n",
    '"text"',
    "null",
    "-0.5e-3",
    '{"a": 1e999}',
    '{"a": 12345678901234567890123}',
    "9" * 10_000,
    '{"a": 1, "a": 2}',
    '"\\ud800"',
    '"\\u0000"',
    '"NaN [[[["',
    "[" * 500 + "]" * 500,
    '["' + "[" * 2000 + '"]',
]
BAD = [
    ("", "line 1 column 1"),
    ('{"a":NaN}', "NaN is no JSON number at line 1 column 6"),
    ('["NaN",\n -Infinity]', "-Infinity is no JSON number at line 2 column 2"),
    ("Infinity", "Infinity"),
    ("[1,]", "line 1 column"),
    ("\ufeff{}", "BOM"),
    ("{'a': 1}", "line 1 column 2"),
    ("01", "line 1"),
    ("1 2", "line 1 column 3"),
    ('"a\tb"', "control character"),
    ("[" * 100_000, "deep"),
    ('{"a":' * 100_000, "deep"),
    ("[" * 501 + "]" * 501, "deep"),
]


@pytest.mark.parametrize("text", GOOD)
def test_json_is_accepted_and_not_rewritten(text: str) -> None:
    assert accept(text.encode(), limit=None, json=True) == text


@pytest.mark.parametrize(("text", "said"), BAD)
def test_what_is_no_json_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(PayloadRefused, match="not valid JSON") as refused:
        accept(text.encode(), limit=None, json=True)
    assert said in str(refused.value)
    assert accept(text.encode(), limit=None, json=False) == text


@pytest.mark.parametrize("text", [*GOOD, *(text for text, _ in BAD)])
def test_what_is_accepted_the_database_also_takes_for_json(text: str) -> None:
    connection = apsw.Connection(":memory:")
    try:
        ((valid,),) = connection.execute("SELECT json_valid(?)", (text,)).fetchall()
    finally:
        connection.close()
    try:
        accept(text.encode(), limit=None, json=True)
    except PayloadRefused:
        return
    assert valid == 1


@given(st.text(alphabet='[]{}",:\\ntrue 0123456789eE+-.NaIfi\t\n', max_size=30))
def test_no_text_is_accepted_that_the_database_refuses_at_the_claim(text: str) -> None:
    test_what_is_accepted_the_database_also_takes_for_json(text)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a\xff", "byte 2 is 0xff"),
        ("\ud800".encode("utf-8", "surrogatepass"), "not UTF-8"),
        ("naïve".encode("latin-1"), "not UTF-8"),
        (b"a\0b", "NUL"),
        (b"x" * 11, "payload of at least 11 bytes is over max_payload of 10B"),
        ("é".encode() * 6, "12 bytes"),
    ],
)
def test_what_no_queue_takes(data: bytes, said: str) -> None:
    with pytest.raises(PayloadRefused) as refused:
        accept(data, limit=10, json=False)
    assert said in str(refused.value)
    assert str(refused.value).isprintable()


def test_the_limit_itself_fits() -> None:
    assert accept(b"x" * 10, limit=10, json=False) == "x" * 10
