"""Payloads of plain SQL that are almost JSON: dead with the reason where JSON is asked, else untouched."""

from pathlib import Path

import pytest

from sqlqd.clock import SystemClock
from sqlqd.model import Rules, Selection, State
from sqlqd.store.sqlite import open_store
from tests.support import sql
from tests.support.stores import add, claimed, holder

pytestmark = pytest.mark.case("C41")

BROKEN = [
    '{"a":NaN}',
    '{"a":-Infinity}',
    "[1,]",
    "\ufeff{}",
    "[" * 100_000,
    "",
    "{'a': 1}",
    '{"a": 1} {"b": 2}',
    "{a: 1}",
    "0x1F",
    '{"a": 1} // why not',
]

VALID = [
    '{"a":1e999}',
    '{"a":12345678901234567890123}',
    '{ "b" : 1.0 , "a" : 1.00 }',
    '"\\ud83e\\udd80 \\u0000"',
    " [1,\n2]\t",
    "null",
    "-0.0",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "queue.db"
    open_store(made, SystemClock(), create=True).close()
    return made


def insert(path: Path, payload: str) -> None:
    sql.rows(
        path, f"INSERT INTO jobs (queue, payload) VALUES ('mail', '{payload.replace(chr(39), chr(39) * 2)}')"
    )


@pytest.mark.parametrize("payload", BROKEN, ids=lambda payload: payload[:20])
def test_what_is_not_json_dies_at_its_first_claim_and_holds_up_nobody(path: Path, payload: str) -> None:
    insert(path, payload)
    store = open_store(path, SystemClock())
    fine = add(store, payload="{}")
    taken = store.claim(holder(), [Rules("mail", json=True)])
    assert taken.claim is not None
    assert taken.claim.job.id == fine
    assert [(one.attempts, one.reason) for one in taken.buried] == [(0, "the payload is not valid JSON")]
    (dead,) = store.find(Selection(states=frozenset({State.DEAD})))
    assert dead.payload == payload
    store.close()


@pytest.mark.parametrize("payload", VALID)
def test_what_is_json_is_handed_over_unchanged(path: Path, payload: str) -> None:
    insert(path, payload)
    store = open_store(path, SystemClock())
    assert claimed(store, Rules("mail", json=True)).job.payload == payload
    store.close()


@pytest.mark.parametrize("payload", BROKEN, ids=lambda payload: payload[:20])
def test_where_text_is_enough_it_is_text(path: Path, payload: str) -> None:
    insert(path, payload)
    store = open_store(path, SystemClock())
    assert claimed(store, Rules("mail")).job.payload == payload
    store.close()
