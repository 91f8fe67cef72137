"""`sqlqd.enqueue`: a job in the transaction of an application's own connection, in a process of its own."""

import textwrap
from pathlib import Path

import pytest

import sqlqd
from sqlqd import producer
from sqlqd.store import schema
from tests.support import sql

_BEFORE = """
import sqlite3, sys
import sqlqd
path = sys.argv[1]
app = sqlite3.connect(path)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "queue.db"
    sqlqd.connect(made).close()
    return made


def told(path: Path, program: str) -> list[str]:
    """What a program says that has the file open as `app`."""
    return sql.python(_BEFORE + textwrap.dedent(program), str(path)).stdout.splitlines()


def test_it_is_part_of_the_callers_transaction(path: Path) -> None:
    told(
        path,
        """
        app.execute("CREATE TABLE orders (n)")
        app.commit()
        for n, commit in ((1, True), (2, False)):
            app.execute("INSERT INTO orders VALUES (?)", (n,))
            sqlqd.enqueue(app, "mail", f"order {n}")
            assert app.in_transaction
            app.commit() if commit else app.rollback()
        """,
    )
    assert sql.rows(path, "SELECT payload FROM jobs") == [["order 1"]]
    assert sql.rows(path, "SELECT n FROM orders") == [[1]]


def test_what_it_adds_is_what_was_said(path: Path) -> None:
    (job_id,) = told(
        path,
        """
        print(sqlqd.enqueue(app, "mail", "p", priority=7, key="k", max_attempts=3, run_at=12.5))
        app.commit()
        """,
    )
    assert sql.rows(path, "SELECT id, queue, payload, priority, key, max_attempts, run_at FROM jobs") == [
        [job_id, "mail", "p", 7, "k", 3, 12.5]
    ]
    with sqlqd.connect(path) as queue:
        claim = queue.claim("mail")
        assert claim is not None
        assert claim.id == job_id


@pytest.mark.parametrize(
    "setting",
    [
        "app.row_factory = sqlite3.Row",
        "app.row_factory = lambda cursor, row: {'whole': row}",
        "app.text_factory = bytes",
        "app.text_factory = lambda data: 'x'",
        "app.isolation_level = None",
        "app.isolation_level = 'EXCLUSIVE'",
    ],
)
def test_the_connections_own_settings_do_not_reach_it(path: Path, setting: str) -> None:
    first, again = told(
        path,
        f"""
        {setting}
        print(sqlqd.enqueue(app, "mail", key="k"))
        print(sqlqd.enqueue(app, "mail", key="k"))
        app.commit()
        """,
    )
    assert first == again
    assert len(first) == 32
    assert sql.rows(path, "SELECT id FROM jobs") == [[first]]


def test_it_leaves_those_settings_alone(path: Path) -> None:
    assert told(
        path,
        """
        app.row_factory = sqlite3.Row
        sqlqd.enqueue(app, "mail")
        print(app.row_factory is sqlite3.Row, app.execute("SELECT 1 AS one").fetchone()["one"])
        app.rollback()
        """,
    ) == ["True 1"]


def test_a_refused_job_leaves_the_transaction_to_the_caller(path: Path) -> None:
    words, more = told(
        path,
        """
        sqlqd.enqueue(app, "mail", "before")
        try:
            sqlqd.enqueue(app, "mail", priority=1000)
        except sqlqd.JobRefused as error:
            print(error)
        try:
            sqlqd.enqueue(app, "mail", b"bytes")
        except sqlqd.JobRefused as error:
            print(error)
        sqlqd.enqueue(app, "mail", "after")
        app.commit()
        """,
    )
    assert "priority must be" in words
    assert "a str, and is of type bytes" in more
    assert sql.rows(path, "SELECT payload FROM jobs") == [["before"], ["after"]]


def test_without_the_tables_it_says_what_to_do(tmp_path: Path) -> None:
    (words,) = told(
        tmp_path / "app.db",
        """
        try:
            sqlqd.enqueue(app, "mail")
        except sqlqd.StoreError as error:
            print(type(error).__name__, error)
        """,
    )
    assert words.startswith("StoreMissing")
    assert "sqlqd schema" in words


def test_somebody_elses_jobs_table_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    (words,) = told(
        path,
        """
        app.execute("CREATE TABLE jobs (id, queue, payload, priority, run_at, key, max_attempts)")
        try:
            sqlqd.enqueue(app, "mail")
        except sqlqd.StoreError as error:
            print(type(error).__name__)
        app.commit()
        """,
    )
    assert words == "StoreMissing"
    assert sql.rows(path, "SELECT count(*) FROM jobs") == [[0]]


def test_a_newer_schema_is_refused(path: Path) -> None:
    sql.rows(path, "UPDATE sqlqd_schema SET version = 999")
    (words,) = told(
        path,
        """
        try:
            sqlqd.enqueue(app, "mail")
        except sqlqd.StoreError as error:
            print(type(error).__name__)
        """,
    )
    assert words == "StoreForeign"


def test_a_lock_is_the_connections_own_error(path: Path) -> None:
    (words,) = told(
        path,
        """
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        app.execute("PRAGMA busy_timeout = 10")
        try:
            sqlqd.enqueue(app, "mail")
        except sqlite3.OperationalError as error:
            print(error)
        """,
    )
    assert "locked" in words


def test_it_never_loads_apsw(path: Path) -> None:
    assert told(path, "sqlqd.enqueue(app, 'mail'); app.commit(); print('apsw' in sys.modules)") == ["False"]


def test_its_schema_is_the_newest() -> None:
    assert schema.NEWEST == producer.NEWEST_SCHEMA
