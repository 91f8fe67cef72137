"""Times that plain SQL states in some other form are refused with the rule, or become a time that comes."""

from pathlib import Path

import pytest

from sqlqd.clock import SystemClock
from sqlqd.model import Selection, State
from sqlqd.store.sqlite import open_store
from tests.support import sql
from tests.support.stores import claim

pytestmark = pytest.mark.case("C12")

REFUSED = [
    ("datetime('now', '-1 day')", "run_at must be Unix seconds"),
    ("'2026-01-01T00:00:00Z'", "run_at must be Unix seconds"),
    ("'now'", "run_at must be Unix seconds"),
    ("''", "run_at must be Unix seconds"),
    ("x'00'", "run_at must be Unix seconds"),
    ("strftime('%s', 'now') * 1000", "run_at must be Unix seconds"),
    ("1e18", "run_at must be Unix seconds"),
    ("9e999", "run_at must be Unix seconds"),
    ("-1", "run_at must be Unix seconds"),
    ("NULL", "NOT NULL constraint failed: jobs.run_at"),
]

DUE = [
    "'1000'",
    "0",
    "julianday('now')",
    "strftime('%s', 'now')",
    "CURRENT_TIMESTAMP + 0",
    "unixepoch('now', '-1 day')",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "queue.db"
    open_store(made, SystemClock(), create=True).close()
    return made


@pytest.mark.parametrize(("value", "rule"), REFUSED)
def test_what_would_never_come_is_refused_with_the_rule(path: Path, value: str, rule: str) -> None:
    (answer,) = sql.stdlib(path, f"INSERT INTO jobs (queue, run_at) VALUES ('noop', {value})")
    assert isinstance(answer, str)
    assert rule in answer
    assert sql.rows(path, "SELECT count(*) FROM jobs") == [[0]]


@pytest.mark.parametrize("value", DUE)
def test_what_is_a_number_of_the_past_is_due(path: Path, value: str) -> None:
    sql.rows(path, f"INSERT INTO jobs (queue, run_at) VALUES ('noop', {value})")
    store = open_store(path, SystemClock())
    assert claim(store, "noop") is not None
    store.close()


def test_without_a_time_it_is_due_now(path: Path) -> None:
    sql.rows(path, "INSERT INTO jobs (queue) VALUES ('noop')")
    store = open_store(path, SystemClock())
    assert [job.state for job in store.find(Selection())] == [State.READY]
    assert claim(store, "noop") is not None
    store.close()


@pytest.mark.parametrize("value", REFUSED)
def test_an_update_is_held_to_the_same_rule(path: Path, value: tuple[str, str]) -> None:
    sql.rows(path, "INSERT INTO jobs (queue) VALUES ('noop')")
    (answer,) = sql.stdlib(path, f"UPDATE jobs SET run_at = {value[0]}")
    assert value[1] in answer


@pytest.mark.parametrize("value", ["datetime('now')", "'soon'", "9e999", "1e18"])
def test_a_lease_cannot_end_in_words(path: Path, value: str) -> None:
    (answer,) = sql.stdlib(
        path, f"INSERT INTO jobs (queue, locked_by, locked_until) VALUES ('noop', 'me', {value})"
    )
    assert "locked_until must be Unix seconds" in answer


def test_a_lock_without_an_end_is_refused(path: Path) -> None:
    (answer,) = sql.stdlib(path, "INSERT INTO jobs (queue, locked_by) VALUES ('noop', 'me')")
    assert "must be set together" in answer
