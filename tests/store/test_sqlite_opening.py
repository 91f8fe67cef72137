"""The file: how it comes to be, and whose it is not."""

import os
import stat
import tempfile
from pathlib import Path

import apsw
import pytest

from sqlqd.model import NewJob
from sqlqd.store import schema
from sqlqd.store.base import StoreFailed, StoreForeign, StoreMissing, StoreReplaced
from sqlqd.store.sqlite import SqliteStore, open_store
from tests.support.clocks import TwoHands
from tests.support.sql import python, rows
from tests.support.stores import add


def opened(path: Path, *, create: bool = True, migrate: bool = False) -> SqliteStore:
    return open_store(path, TwoHands(), create=create, migrate=migrate)


def execute(path: Path, *statements: str) -> None:
    """By the SQLite that is in this process anyway."""
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement).fetchall()
    connection.close()


def tables(path: Path) -> set[str]:
    return {name for (name,) in rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "queue.db"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_new_file_is_for_its_group_and_nobody_else(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        store = opened(path)
        add(store)
    finally:
        os.umask(before)
    files = sorted(path.parent.iterdir())
    assert [one.name for one in files] == ["queue.db", "queue.db-shm", "queue.db-wal"]
    assert {stat.S_IMODE(one.stat().st_mode) for one in files} == {0o660}
    store.close()


def test_a_new_file_is_in_write_ahead_mode_at_the_newest_schema(path: Path) -> None:
    opened(path).close()
    assert rows(path, "PRAGMA journal_mode") == [["wal"]]
    assert rows(path, "SELECT version FROM sqlqd_schema") == [[schema.NEWEST]]


def test_without_create_nothing_is_made(path: Path) -> None:
    with pytest.raises(StoreMissing, match="no database at"):
        opened(path, create=False)
    assert not path.exists()


def test_a_directory_is_never_made(tmp_path: Path) -> None:
    with pytest.raises(StoreMissing, match="directory"):
        opened(tmp_path / "absent" / "queue.db")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_is_no_queue_until_somebody_makes_one(path: Path) -> None:
    path.touch()
    with pytest.raises(StoreMissing, match="no queue yet"):
        opened(path, create=False)
    opened(path).close()
    opened(path, create=False).close()


def test_the_path_may_not_be_a_directory(tmp_path: Path) -> None:
    with pytest.raises(StoreFailed, match="directory"):
        opened(tmp_path)


def test_what_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    content = b"dear diary, " * 1000
    path.write_bytes(content)
    with pytest.raises(StoreForeign, match="not an SQLite database"):
        opened(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("name", ["jobs", "dead_jobs", "done_jobs"])
def test_another_applications_table_is_refused_and_left_alone(path: Path, name: str) -> None:
    execute(path, f"CREATE TABLE {name} (id, queue, payload)", f"INSERT INTO {name} VALUES (1, 'a', 'b')")
    for migrate in (False, True):
        with pytest.raises(StoreForeign, match=f"table {name} that is not sqlqd's"):
            opened(path, migrate=migrate)
    assert tables(path) == {name}
    assert rows(path, f"SELECT * FROM {name}") == [[1, "a", "b"]]
    assert rows(path, "PRAGMA journal_mode") == [["delete"]]


def test_an_applications_own_tables_may_be_in_the_same_file(path: Path) -> None:
    execute(path, "CREATE TABLE orders (n)", "INSERT INTO orders VALUES (7)", "PRAGMA user_version = 42")
    opened(path).close()
    assert rows(path, "SELECT n FROM orders") == [[7]]
    assert rows(path, "PRAGMA user_version") == [[42]]


def test_a_newer_schema_is_refused_and_left_alone(path: Path) -> None:
    opened(path).close()
    execute(path, "UPDATE sqlqd_schema SET version = version + 1")
    for create, migrate in [(False, False), (True, False), (True, True)]:
        with pytest.raises(StoreForeign, match=r"newer than this sqlqd's .*upgrade"):
            opened(path, create=create, migrate=migrate)
    assert rows(path, "SELECT version FROM sqlqd_schema") == [[schema.NEWEST + 1]]


def test_an_application_may_make_the_schema_itself(path: Path) -> None:
    execute(path, "PRAGMA journal_mode = WAL")
    connection = apsw.Connection(str(path))
    connection.execute(schema.ddl()).fetchall()
    connection.close()
    store = opened(path, create=False)
    add(store)
    store.close()


@pytest.mark.parametrize("version", range(1, schema.NEWEST + 1))
def test_every_older_schema_is_brought_up_to_date_by_run_alone(path: Path, version: int) -> None:
    connection = apsw.Connection(str(path))
    for migration in schema.migrations()[:version]:
        connection.execute(migration.read_text()).fetchall()
    connection.execute("INSERT INTO jobs (queue, payload) VALUES ('mail', 'kept')").fetchall()
    connection.close()
    store = opened(path)
    add(store)
    store.close()
    assert rows(path, "SELECT version FROM sqlqd_schema") == [[version]]
    opened(path, migrate=True).close()
    assert rows(path, "SELECT version FROM sqlqd_schema") == [[schema.NEWEST]]
    assert rows(path, "SELECT count(*) FROM jobs WHERE payload = 'kept'") == [[1]]


def test_migrations_are_numbered_without_gaps_and_leave_their_number() -> None:
    names = [migration.name for migration in schema.migrations()]
    assert names == sorted(one.name for one in schema.migrations()[0].parent.glob("*.sql"))
    assert len(names) == schema.NEWEST
    connection = apsw.Connection(":memory:")
    for number, migration in enumerate(schema.migrations(), start=1):
        connection.execute(migration.read_text()).fetchall()
        assert connection.execute("SELECT version FROM sqlqd_schema").fetchall() == [(number,)]
    connection.close()


_AS_NOBODY = """
import os, sys
from pathlib import Path
from sqlqd.clock import SystemClock
from sqlqd.store.base import StoreDenied
from sqlqd.store.sqlite import open_store
import sqlqd.rights  # before this process may read no more of its Python
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    open_store(Path(sys.argv[1]), SystemClock(), create=True)
except StoreDenied as error:
    print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("there", [True, False])
def test_without_permission_it_says_what_would_give_it(*, there: bool) -> None:
    # Not below tmp_path, which nobody else may even enter.
    folder = Path(tempfile.mkdtemp(prefix="sqlqd-test-"))
    folder.chmod(0o755)
    path = folder / "queue.db"
    try:
        if there:
            opened(path).close()
        told = python(_AS_NOBODY, str(path)).stdout
        assert "no permission" in told
        assert str(path) in told
    finally:
        for one in folder.iterdir():
            one.unlink()
        folder.rmdir()


def test_a_file_that_was_replaced_is_noticed(path: Path) -> None:
    store = opened(path)
    store.check_file()
    path.rename(path.with_name("moved.db"))
    with pytest.raises(StoreMissing, match="no database"):
        store.check_file()
    path.with_name("moved.db").rename(path)
    store.check_file()
    path.rename(path.with_name("moved.db"))
    opened(path).close()
    with pytest.raises(StoreReplaced, match="no longer the file"):
        store.check_file()
    store.close()


def test_a_long_log_is_cut_once_nobody_reads_it(path: Path) -> None:
    store, log = open_store(path, TwoHands(), create=True, autocheckpoint=False), Path(f"{path}-wal")
    reader = apsw.Connection(str(path))
    reading = reader.execute("SELECT 1 FROM jobs UNION ALL SELECT 1 UNION ALL SELECT 2")
    next(iter(reading))
    for _ in range(6):
        store.enqueue([NewJob("mail", "x" * 1000)] * 1000)
    assert log.stat().st_size > 4_194_304
    assert store.checkpoint() > 0
    reader.close(force=True)
    while store.checkpoint():
        pass
    assert log.stat().st_size == 0
    store.close()


def test_a_name_that_is_not_utf8_is_refused_with_what_to_do(tmp_path: Path) -> None:
    directory = tmp_path / os.fsdecode(b"b\xffd")
    directory.mkdir()
    with pytest.raises(StoreFailed, match="not UTF-8; rename it"):
        open_store(directory / "queue.db", TwoHands(), create=True)
