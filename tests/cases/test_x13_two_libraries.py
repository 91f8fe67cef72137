"""Two SQLite libraries in one process on one file end each other's locks: sqlqd refuses to be the second."""

from pathlib import Path

import pytest

from tests.support.sql import python, rows

SECOND = """
import sqlite3, sys
import sqlqd
path, by = sys.argv[1], sys.argv[2]
sqlqd.connect(path).close()
own = sqlite3.connect(path)
own.execute("SELECT count(*) FROM jobs").fetchall()
try:
    sqlqd.connect(by)
except sqlqd.StoreError as error:
    print(error)
sqlqd.enqueue(own, "mail", "in the application's own transaction")
own.commit()
print("apsw" in sys.modules)
own.close()
sqlqd.connect(by).close()
"""

FIRST = """
import sys
import sqlqd
import sqlite3
own = sqlite3.connect(sys.argv[1])
sqlqd.enqueue(own, "mail")
own.commit()
print([name for name in sys.modules if name.startswith("apsw")])
"""


@pytest.mark.case("X13")
@pytest.mark.parametrize("other_name", ["same", "symbolic link", "hard link"])
def test_connect_refuses_a_file_that_another_library_has_open(tmp_path: Path, other_name: str) -> None:
    path = tmp_path / "queue.db"
    by = path if other_name == "same" else tmp_path / "by.db"
    path.touch()
    if other_name == "symbolic link":
        by.symlink_to(path)
    elif other_name == "hard link":
        by.hardlink_to(path)
    ran = python(SECOND, str(path), str(by))
    told = ran.stdout.splitlines()[0]
    assert "has" in told
    assert "open already" in told
    assert rows(path, "SELECT queue FROM jobs") == [["mail"]]
    assert rows(path, "PRAGMA integrity_check") == [["ok"]]


@pytest.mark.case("X13")
def test_a_program_that_only_adds_jobs_loads_one_library(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    python("import sys, sqlqd; sqlqd.connect(sys.argv[1]).close()", str(path))
    assert python(FIRST, str(path)).stdout == "[]\n"
    assert len(rows(path, "SELECT id FROM jobs")) == 1


@pytest.mark.case("X13")
def test_connect_refuses_a_second_time_of_its_own(tmp_path: Path) -> None:
    source = (
        "import sys, sqlqd\n"
        "with sqlqd.connect(sys.argv[1]):\n"
        "    try:\n"
        "        sqlqd.connect(sys.argv[1])\n"
        "    except sqlqd.StoreError as error:\n"
        "        print(error)\n"
        "sqlqd.connect(sys.argv[1]).close()\n"
    )
    assert "open already" in python(source, str(tmp_path / "queue.db")).stdout
