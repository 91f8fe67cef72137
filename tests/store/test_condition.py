"""What `doctor` and `metrics` ask of a store."""

from pathlib import Path

import apsw
import pytest

from sqlqd.condition import Distant, Total
from sqlqd.model import Bury, DaemonSeen, Done, Retry, Rules, Selection
from sqlqd.store import condition
from sqlqd.store.base import Store
from sqlqd.store.sqlite import open_store
from tests.store.test_sqlite_plans import costly, fill, plan
from tests.support.clocks import TwoHands
from tests.support.stores import add, claimed, failure, holder


def test_totals_last_over_the_folding_of_old_counters(store: Store, clock: TwoHands) -> None:
    kept = Rules("mail", keep_done=60.0)
    for verdict in (Done(), Retry(clock.wall(), "no"), Bury("no")):
        add(store)
        assert store.settle(claimed(store, kept), verdict, failure()).kept
    store.cancel(Selection(ids=(add(store),)))
    add(store, "data")
    store.settle(claimed(store, "data"), Done())
    add(store, "data")
    claimed(store, "data")
    store.end_leases([holder().uid])

    def totals() -> set[Total]:
        return set(store.totals())

    ended = {Total("mail", one, 1) for one in ("done", "failed", "dead", "cancelled")}
    ended |= {Total("data", "done", 1), Total("data", "lost", 1)}
    assert totals() == ended
    clock.pass_by(90_000.0)
    while store.tidy():
        pass
    assert totals() == ended


def test_the_condition_of_a_queue(store: Store, clock: TwoHands) -> None:
    found = store.condition()
    assert (found.now, found.schema == found.newest_schema) == (clock.wall(), True)
    assert (found.added_at, found.written_at, found.distant, found.overdue) == (None, None, None, 0)
    store.daemon_started(DaemonSeen(77, clock.wall() - 9, clock.wall(), "1", "/etc/sqlqd.toml", 2))
    assert store.condition().written_at == clock.wall() - 9
    add(store)
    began = clock.wall()
    assert store.condition().added_at == pytest.approx(began, abs=1e-3)
    add(store, delay=1000 * 86_400.0)
    last = add(store, delay=2000 * 86_400.0)
    add(store, delay=300 * 86_400.0)
    distant = store.condition().distant
    assert distant is not None
    assert distant == Distant(2, last, distant.run_at)
    assert distant.run_at == pytest.approx(began + 2000 * 86_400.0, abs=1.0)
    held = claimed(store)
    clock.pass_by(10.0)
    assert store.settle(held, Bury("no"), failure()).kept
    assert store.condition().written_at == clock.wall()


def test_leases_count_that_are_over_for_long(store: Store, clock: TwoHands) -> None:
    add(store)
    held = claimed(store, Rules("mail", lease=30.0))
    for seconds, overdue in ((29.0, 0), (31.0, 0), (60.0, 1)):
        clock.pass_by(seconds)
        assert store.condition().overdue == overdue
    assert store.renew(held, 30.0)
    assert store.condition().overdue == 0


def test_looking_at_the_structure_ends_in_time(tmp_path: Path) -> None:
    clock = TwoHands()
    store = open_store(tmp_path / "queue.db", clock, create=True)
    assert store.damages(full=False, seconds=60.0) == ()
    assert store.damages(full=True, seconds=60.0) == ()
    connection = apsw.Connection(str(tmp_path / "queue.db"))
    fill(connection)
    connection.close()
    assert store.damages(full=True, seconds=-1.0) is None
    # Nothing is left of the limit.
    assert store.damages(full=True, seconds=60.0) == ()
    store.close()


def test_none_of_it_reads_the_jobs_themselves(tmp_path: Path) -> None:
    open_store(tmp_path / "queue.db", TwoHands(), create=True).close()
    connection = apsw.Connection(str(tmp_path / "queue.db"))
    fill(connection)
    seen = {
        name: costly(plan(connection, text))
        for name, text in vars(condition).items()
        if isinstance(text, str) and text.split()[:1] == ["SELECT"]
    }
    assert set(seen) == {"_TOTALS", "_ADDED", "_WRITTEN", "_DISTANT", "_ID"}
    assert seen["_ID"] == []
    # As all counts go: by the index, whose every row is looked at, and no row of the table.
    assert seen["_DISTANT"] == ["SCAN jobs USING INDEX jobs_waiting"]
    (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'jobs'").fetchall()[0]
    program = connection.execute(f"EXPLAIN {condition._DISTANT}", (0,)).fetchall()
    cursors = {row[2] for row in program if row[1] == "OpenRead" and row[3] == root}
    assert [row for row in program if row[1] == "Column" and row[2] in cursors] == []
    connection.close()
