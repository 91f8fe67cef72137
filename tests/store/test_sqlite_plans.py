"""No statement that runs for every job, or every second, may read a table or sort."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from sqlqd.model import Bury, Done, NewJob, Order, Release, Retry, Rules, Selection
from sqlqd.store import statements
from sqlqd.store.sqlite import open_store
from tests.support.clocks import TwoHands
from tests.support.stores import add, claimed, failure, holder

SMALL = {"sqlqd_queues", "sqlqd_daemons", "sqlqd_workers"}
"""Tables of a few rows at most."""

SCANNED = {
    # On the index of an older schema.
    "LIVE_BY_KEY_AT_FIRST": "SCAN jobs",
    # Which housekeeping itself keeps short.
    "OLD_COUNTERS": "SCAN sqlqd_counters",
    # Rows of a dead worker among those that are held.
    "HELD_BY_UID": "SCAN jobs USING INDEX jobs_held",
    "DAEMON_PIDS": "SCAN sqlqd_daemons",
    # What people asked of running jobs, until those have ended.
    "OVER_REQUESTS": "SCAN r",
    "OVER_PROGRESS": "SCAN p",
    # Queues that are paused or held.
    "PAUSES": "SCAN sqlqd_queues",
    "OVER_PAUSES": "SCAN sqlqd_queues",
}

STATEMENTS = {
    name: text
    for name, text in vars(statements).items()
    if name.isupper()
    and isinstance(text, str)
    and text.split()[0] in {"SELECT", "INSERT", "UPDATE", "DELETE", "WITH"}
}


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[apsw.Connection]:
    path = tmp_path / "queue.db"
    open_store(path, TwoHands(), create=True).close()
    opened = apsw.Connection(str(path))
    yield opened
    opened.close()


def plan(connection: apsw.Connection, text: str) -> list[str]:
    """The plan's lines. What is bound does not matter to it."""
    lines: list[str] = []
    numbers = max((int(one) for one in "987654321" if f"?{one}" in text), default=text.count("?"))
    for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", (0,) * numbers):
        lines.append(str(row[3]))
    return lines


def costly(lines: Sequence[str]) -> list[str]:
    """Lines that read all of something, or sort."""
    found = []
    for line in lines:
        words = line.split()
        reads_all = words[0] == "SCAN" and words[1] not in {"CONSTANT", "below", "(subquery-1)", *SMALL}
        if reads_all or "TEMP B-TREE" in line or "AUTOMATIC" in line:
            found.append(line)
    return found


def fill(connection: apsw.Connection) -> None:
    """What would tempt the planner, with statistics of it."""
    connection.execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
        "INSERT INTO jobs (queue, priority, key) SELECT 'mail', i % 3, i FROM n"
    ).fetchall()
    connection.execute("ANALYZE").fetchall()


@pytest.mark.parametrize("analyzed", [False, True], ids=["plain", "analyzed"])
@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_no_statement_reads_a_table_or_sorts(
    connection: apsw.Connection, name: str, *, analyzed: bool
) -> None:
    if analyzed:
        fill(connection)
    lines = plan(connection, STATEMENTS[name])
    allowed = SCANNED.get(name)
    assert [line for line in costly(lines) if not (allowed and line.startswith(allowed))] == [], lines


def test_the_statements_were_found() -> None:
    assert {"WAITING_HEAD", "LOWER_HEAD", "DUE_BELOW", "GIVE", "RENEW", "INSERT_JOB", "COUNT"} <= set(
        STATEMENTS
    )


def test_a_scan_and_a_sort_are_seen(connection: apsw.Connection) -> None:
    assert costly(plan(connection, "SELECT id FROM jobs WHERE payload = 'x'"))
    assert costly(
        plan(connection, "SELECT id FROM jobs WHERE queue = 'x' AND locked_by IS NULL ORDER BY run_at")
    )
    assert costly(plan(connection, "SELECT count(*) FROM jobs"))


@pytest.mark.parametrize("name", ["WAITING_HEAD", "LOWER_HEAD", "HELD_UP_TO", "DUE_UP_TO", "NEXT_RUN_AT"])
def test_rows_that_are_only_looked_at_are_not_read(connection: apsw.Connection, name: str) -> None:
    """The plan names the table; the program must take every column from the index."""
    text = STATEMENTS[name]
    program = connection.execute(f"EXPLAIN {text}", (0,) * text.count("?")).fetchall()
    (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'jobs'").fetchall()[0]
    cursors = {row[2] for row in program if row[1] == "OpenRead" and row[3] == root}
    assert not [row for row in program if row[1] == "Column" and row[2] in cursors]


def test_a_round_of_work_uses_no_statement_that_is_not_named(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    store = open_store(path, TwoHands(), create=True)
    used: set[str] = set()

    def note(_: apsw.Cursor, text: str, __: Any) -> bool:
        used.add(text.strip())
        return True

    (connection,) = [one for one in apsw.connections() if one.filename == str(path)]
    connection.exec_trace = note
    store.enqueue([NewJob("mail", "1")] * 6)
    add(store, key="k")
    served = [Rules("mail", concurrency=9, json=True)]
    for verdict in (Done(), Retry(0.0, "no"), Bury("no"), Release("stop", block=5.0)):
        held = claimed(store, *served)
        store.renew(held, 30.0)
        store.settle(held, verdict, failure(), then=(holder(), served))
    store.unblock("mail")
    store.expire_leases()
    store.end_leases([holder().uid])
    store.outlook(served, limit=9)
    store.tidy()
    named = {text.strip() for text in STATEMENTS.values()}
    others = {text for text in used - named if text.split()[0] not in {"BEGIN", "COMMIT", "PRAGMA"}}
    assert others == set()
    store.close()


def test_a_round_of_work_compiles_no_statement_again(tmp_path: Path) -> None:
    """Other values at each claim, and other priorities: a range of them is no reason for another plan."""
    path, clock = tmp_path / "queue.db", TwoHands()
    store = open_store(path, clock, create=True)
    compiled: list[str] = []

    def note(code: int, *what: str | None) -> int:
        compiled.append(f"{apsw.mapping_authorizer_function[code]} {what}")
        return apsw.SQLITE_OK

    def work() -> None:
        clock.pass_by(1.0)
        held = claimed(store, *served)
        kept = store.renew(held, 30.0)
        assert kept
        store.settle(kept, Done(), then=(holder(), served))
        assert store.outlook(served, limit=9).due
        store.expire_leases()

    served = [Rules("mail", concurrency=99)]
    store.enqueue([NewJob("mail", str(number), priority=number % 3) for number in range(99)])
    for priority in (100, 99, 98):
        add(store, priority=priority, run_at=9e10)
    (connection,) = [one for one in apsw.connections() if one.filename == str(path)]
    connection.authorizer = note
    work()
    work()
    assert compiled
    compiled.clear()
    for _ in range(9):
        work()
    assert compiled == []
    store.close()


def test_find_walks_in_order_without_sorting(connection: apsw.Connection, tmp_path: Path) -> None:
    used: dict[str, Any] = {}
    store = open_store(tmp_path / "queue.db", TwoHands())
    (inside,) = [one for one in apsw.connections() if one is not connection]

    def note(_: apsw.Cursor, text: str, bound: Any) -> bool:
        used[text] = bound
        return True

    inside.exec_trace = note
    add(store)
    claimed(store)
    fill(connection)
    for order in Order:
        list(store.find(Selection(queue="mail", limit=5), order=order))
        list(store.find(Selection(limit=5000), order=order))
    list(store.find(Selection(ids=("abcdef",))))
    store.not_live(["abcdef"])
    selects = {text: bound for text, bound in used.items() if text.lstrip().startswith("SELECT")}
    assert len(selects) >= 12
    for text, bound in selects.items():
        lines = [str(row[3]) for row in inside.execute(f"EXPLAIN QUERY PLAN {text}", bound)]
        assert not [line for line in lines if "TEMP B-TREE" in line], text
        assert not [line for line in lines if line.startswith(("SCAN jobs", "SCAN dead", "SCAN done"))], lines
    store.close()


def test_why_reads_no_table(connection: apsw.Connection, tmp_path: Path) -> None:
    fill(connection)
    used: dict[str, Any] = {}
    store = open_store(tmp_path / "queue.db", TwoHands(wall=9e9))
    (inside,) = [one for one in apsw.connections() if one is not connection]

    def note(_: apsw.Cursor, text: str, bound: Any) -> bool:
        used[text] = bound
        return True

    inside.exec_trace = note
    held, waits = claimed(store), add(store)
    for job in (held.id, waits):
        assert store.circumstances(job, [Rules("mail", concurrency=1)])
    inside.exec_trace = None
    selects = {text: bound for text, bound in used.items() if "jobs" in text and "SELECT" in text}
    assert len(selects) > 10
    for text, bound in selects.items():
        lines = [str(row[3]) for row in inside.execute(f"EXPLAIN QUERY PLAN {text}", bound)]
        assert [
            line for line in costly(lines) if not line.startswith("SCAN jobs USING INDEX jobs_held")
        ] == []
    store.close()
