"""To open and close the database's file ends the locks that the process holds on it: sqlqd never does."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.support.sql import rows, shell

_HOLDER = """
import sys
from pathlib import Path
from sqlqd.clock import SystemClock
from sqlqd.model import Holder, NewJob, Rules, Selection
from sqlqd.store.sqlite import open_store
import sqlqd

path = Path(sys.argv[1])
store = open_store(path, SystemClock(), create=True, autocheckpoint=False)
holder, rules = Holder("f" * 16, 1, 1), [Rules("mail")]

def refused():
    try:
        sqlqd.connect(path)
    except sqlqd.StoreError:
        return
    raise AssertionError("connected twice")

def everything():
    refused()
    store.enqueue([NewJob("mail")])
    store.check_file()
    store.claim(holder, rules)
    store.expire_leases()
    store.outlook(rules, limit=3)
    store.tidy()
    store.overview(["mail"])
    list(store.find(Selection()))
    store.checkpoint()

acts = {
    "everything": everything,
    "peek": lambda: open(path, "rb").close(),
    "enqueue": lambda: store.enqueue([NewJob("mail", id="A")]),
}
for line in sys.stdin:
    acts[line.strip()]()
    print("done", flush=True)
"""


class Holding:
    """A process with an open store, told what to do line by line."""

    def __init__(self, to: IO[str], answers: IO[str]) -> None:
        self._to = to
        self._answers = answers

    def do(self, what: str) -> None:
        """Have it done."""
        self._to.write(f"{what}\n")
        self._to.flush()
        assert self._answers.readline() == "done\n", f"{what} failed"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "queue.db"


@pytest.fixture
def holding(path: Path) -> Iterator[Holding]:
    command = [sys.executable, "-c", _HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Holding(process.stdin, process.stdout)
        process.stdin.close()


def others_come_and_go(path: Path) -> bool:
    """Whether the log is still there after another process opened, read and closed the file."""
    assert shell(path, "SELECT count(*) FROM jobs;").returncode == 0
    return Path(f"{path}-wal").exists() and Path(f"{path}-shm").exists()


@pytest.mark.case("C02")
def test_nothing_that_a_store_does_ends_its_own_locks(path: Path, holding: Holding) -> None:
    holding.do("everything")
    assert others_come_and_go(path)
    holding.do("enqueue")
    assert shell(path, "INSERT INTO jobs (id, queue) VALUES ('B', 'mail');").returncode == 0
    assert rows(path, "SELECT id FROM jobs WHERE id IN ('A', 'B') ORDER BY id") == [["A"], ["B"]]
    assert rows(path, "PRAGMA integrity_check") == [["ok"]]


@pytest.mark.case("C02")
def test_the_danger_is_real(path: Path, holding: Holding) -> None:
    holding.do("everything")
    holding.do("peek")
    assert not others_come_and_go(path)
