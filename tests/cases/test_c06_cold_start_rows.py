"""Several processes that start at once on a new file, or on one in another journal mode that is locked."""

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from sqlqd.store import schema
from sqlqd.store.sqlite import open_store
from tests.support import sql
from tests.support.clocks import TwoHands
from tests.support.crowd import Crowd
from tests.support.stores import add

pytestmark = pytest.mark.case("C06")

_STARTER = """
import json, sys
from pathlib import Path
from sqlqd.clock import SystemClock
from sqlqd.model import NewJob
from sqlqd.store.sqlite import open_store
path, (migrate,) = sys.argv[1], json.loads(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
store = open_store(Path(path), SystemClock(), create=True, migrate=migrate)
store.enqueue([NewJob("mail")])
store.close()
print("[]")
"""

_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
connection.close()
"""


@pytest.mark.parametrize("round_", range(5))
def test_all_succeed_and_the_schema_is_made_once(tmp_path: Path, round_: int) -> None:
    path = tmp_path / "queue.db"
    crowd = Crowd(path)
    for number in range(8):
        crowd.add(_STARTER, number % 2 == 0)
    crowd.run()
    assert sql.rows(path, "SELECT count(*) FROM jobs") == [[8]]
    assert sql.rows(path, "SELECT version FROM sqlqd_schema") == [[schema.NEWEST]]
    assert sql.rows(path, "PRAGMA journal_mode") == [["wal"]]
    assert sql.rows(path, "PRAGMA integrity_check") == [["ok"]]


def test_a_database_in_another_mode_that_is_locked_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE orders (n)").fetchall()
    connection.close()
    waits = 0

    def waiting() -> None:
        nonlocal waits
        waits += 1
        if waits == 100:
            holding.stdin.write(b"go\n")  # type: ignore[union-attr] # a pipe, as it was asked for
            holding.stdin.flush()  # type: ignore[union-attr] # as above

    with subprocess.Popen(
        [sys.executable, "-c", _LOCK, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holding:
        assert holding.stdout is not None
        assert holding.stdout.readline() == b"locked\n"
        store = open_store(path, TwoHands(), create=True, busy_timeout=20.0, waiting=waiting)
        add(store)
        store.close()
    assert waits >= 100
    assert sql.rows(path, "PRAGMA journal_mode") == [["wal"]]
    assert sql.rows(path, "SELECT count(*) FROM jobs") == [[1]]
