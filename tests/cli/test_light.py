"""What one `enqueue` costs, counted: people and programs wait for it thousands of times."""

import json
import subprocess
import sys
from contextlib import closing
from typing import Any

import pytest

from sqlqd.clock import SystemClock
from sqlqd.store.sqlite import open_store
from tests.support.shell import Desk

OURS = {
    *("", "exits", "payload", "version", "printable", "clock", "units", "newjob", "terms", "placeholders"),
    *("identity", "faults"),
    *("cli", "cli.short", "cli.options", "cli.readers", "cli.session", "cli.entering", "cli.adding"),
    *("cli.failure", "cli.output", "cli.unbroken"),
    *("config", "config.agreement", "config.errors", "config.kinds", "config.places", "config.settings"),
    *("config.tables",),
    *("store", "store.entry", "store.adding", "store.database", "store.errors", "store.failures"),
    *("store.ledger", "store.pace", "store.schema", "store.statements", "store.wal"),
}
"""Each is there because adding a job does not go without it."""

HEAVY = {
    *("click", "dataclasses", "inspect", "ast", "gettext", "uuid", "platform", "difflib", "locale"),
    *("logging", "subprocess", "asyncio", "multiprocessing", "concurrent", "sdnotify", "rich"),
    *("importlib.metadata", "importlib.resources", "email", "json", "argparse", "sqlite3", "socket"),
    *("shutil", "tempfile", "ctypes", "select", "shlex", "traceback", "threading", "random", "zoneinfo"),
}

ITSELF = """
import sys
from sqlqd.cli import execute
status = execute(sys.argv[1:])
print(status, *sorted(sys.modules), file=sys.stderr)
"""

COUNTED = """
import json, sys
import apsw
from sqlqd.cli import execute
from tests.support.vfs import Files
told = {"changes": [], "statements": []}
files = Files("counted", lambda change: told["changes"].append([change.did.name, change.name[-4:]]))
def heard(event):
    told["statements"].append(event["sql"].strip())
apsw.connection_hooks.append(lambda opened: opened.trace_v2(apsw.SQLITE_TRACE_STMT, heard))
told["status"] = execute(sys.argv[1:])
print(json.dumps(told), file=sys.stderr)
"""


def run(desk: Desk, program: str, *words: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program, "enqueue", *words],
        capture_output=True,
        text=True,
        env=desk.environment(),
        check=True,
    ).stderr


@pytest.mark.parametrize("words", [["hello"], ["hello", "--delay", "5s", "--key", "k"]])
def test_it_loads_no_more_than_it_needs(desk: Desk, words: list[str]) -> None:
    status, *loaded = run(desk, ITSELF, "mail", *words).split()
    assert status == "0"
    mine = {name.removeprefix("sqlqd").removeprefix(".") for name in loaded if name.split(".")[0] == "sqlqd"}
    assert mine == OURS
    assert {name for name in loaded if name in HEAVY or name.split(".")[0] in HEAVY} == set()


def counted(desk: Desk) -> dict[str, Any]:
    """One that is added while a daemon, or anybody else, has the file open."""
    with closing(open_store(desk.database, SystemClock(), create=True)) as other:
        other.running()
        told = json.loads(run(desk, COUNTED, "mail", "hello"))
    assert told["status"] == 0
    return dict(told)


def test_it_is_one_transaction_with_one_sync(desk: Desk) -> None:
    told = counted(desk)
    statements = told["statements"]
    assert statements.count("BEGIN IMMEDIATE") == 1
    assert statements.count("BEGIN") == 1
    assert len([one for one in statements if one.startswith(("INSERT", "UPDATE", "DELETE"))]) == 1
    assert len(statements) <= 11, statements
    assert told["changes"].count(["SYNC", "-wal"]) == 1
    assert {name for _, name in told["changes"]} == {"-wal"}
