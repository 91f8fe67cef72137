"""What other programs write into a lease or a counter stops no chore for the others."""

from pathlib import Path

import pytest

from sqlqd.model import Ask, Bury, Rules, Selection, State
from sqlqd.store.sqlite import open_store
from tests.support.clocks import TwoHands
from tests.support.sql import python, rows, shell
from tests.support.stores import add, claim, claimed


def test_a_row_with_as_many_crashes_as_there_can_be_keeps_no_other_lease_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    store = open_store(path, TwoHands(), create=True)
    most, none = "'most', 'q', 1000000000", "'none', 'q', 0"
    for values in (most, none):
        shell(
            path,
            "INSERT INTO jobs (id, queue, crashes, attempts, locked_by, locked_until) "
            f"VALUES ({values}, 1, 'x', 1)",
        )
    assert len(store.expire_leases()) == 2
    assert rows(path, "SELECT id, crashes FROM jobs ORDER BY id") == [["most", 1000000000], ["none", 1]]
    store.close()


def test_a_counter_whose_queue_is_no_text_is_folded_too(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    store = open_store(path, TwoHands(), create=True)
    shell(
        path, "INSERT INTO sqlqd_counters VALUES (CAST(x'ff41' AS TEXT), 5, 'lost', 3), ('q', 5, 'lost', 4)"
    )
    store.tidy()
    folded = rows(path, "SELECT hex(queue), typeof(queue), slot, n FROM sqlqd_counters ORDER BY n")
    assert folded == [["FF41", "text", 0, 3], ["71", "text", 0, 4]]
    store.close()


def test_the_log_beside_the_real_file_is_the_one_that_is_kept_short(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path = tmp_path / "queue.db"
    open_store(tmp_path / "real" / "queue.db", TwoHands(), create=True).close()
    path.symlink_to("real/queue.db")
    store = open_store(path, TwoHands(), autocheckpoint=False)
    shell(
        path,
        "PRAGMA wal_autocheckpoint = 0; "
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
        "INSERT INTO jobs (queue, payload) SELECT 'q', hex(randomblob(4000)) FROM n;",
    )
    log = tmp_path / "real" / "queue.db-wal"
    assert log.stat().st_size > 8 * 1024 * 1024
    assert store.checkpoint() == 0
    assert log.stat().st_size <= 4 * 1024 * 1024
    store.close()


@pytest.mark.parametrize(
    "lease",
    [
        "locked_until = 1e11",
        "locked_until = 'never'",
        "locked_until = NULL",
        "locked_until = 1e10, lease_end = 5.0",
        "locked_until = 1e10, lease_boot = '{boot}'",
        "locked_until = 1e10, lease_boot = '{boot}', lease_end = 'later'",
        "locked_until = 1e10, lease_boot = '{boot}', lease_end = 1e300",
        "locked_until = 1e10, lease_boot = 7, lease_end = 1e10",
        "locked_until = 1e10, lease_boot = x'ff', lease_end = 1e10",
    ],
)
def test_no_lease_that_another_program_made_is_for_ever(tmp_path: Path, lease: str) -> None:
    path, clock = tmp_path / "queue.db", TwoHands()
    store = open_store(path, clock, create=True)
    odd, fine = add(store), add(store)
    _past_the_checks(
        path, f"UPDATE jobs SET locked_by = 'x', {lease.format(boot=clock.boot())} WHERE id = '{odd}'"
    )
    _past_the_checks(path, f"UPDATE jobs SET locked_by = 'y', locked_until = 1 WHERE id = '{fine}'")
    assert len(store.expire_leases()) == 2
    first, second = claim(store), claim(store)
    dead = list(store.find(Selection(states=frozenset({State.DEAD}))))
    assert {one.job.id for one in (first, second) if one} | {one.id for one in dead} == {odd, fine}
    assert all("the row is none that can run" in (one.reason or "") for one in dead)
    store.close()


@pytest.mark.parametrize("lease", ["locked_until = 1e11", "locked_until = 5", "locked_until = 'never'"])
def test_people_can_free_what_no_program_holds(tmp_path: Path, lease: str) -> None:
    path = tmp_path / "queue.db"
    store = open_store(path, TwoHands(), create=True)
    first, second, held = add(store), add(store), add(store)
    _past_the_checks(path, f"UPDATE jobs SET locked_by = 'x', {lease} WHERE id <> '{held}'")
    claim = claimed(store)
    assert claim.job.id == held
    assert [one.id for one in store.cancel(Selection(ids=(first, held))).jobs] == [first, held]
    assert [one.id for one in store.find(Selection(states=frozenset({State.RUNNING})))] == [second, held]
    assert store.asked(claim) is Ask.CANCEL
    assert [one.id for one in store.cancel(Selection(queue="mail", limit=0)).jobs] == []
    assert [one.id for one in store.retry(Selection(ids=(second, held))).jobs] == [second]
    (left,) = store.find(Selection(ids=(second,)))
    assert left.state in {State.READY, State.DEAD}
    store.close()


def test_our_own_lease_that_is_over_is_left_to_a_daemon(tmp_path: Path) -> None:
    path, clock = tmp_path / "queue.db", TwoHands()
    store = open_store(path, clock, create=True)
    add(store)
    held = claimed(store)
    clock.pass_by(100)
    # Its command may still run.
    chosen = Selection(ids=(held.job.id,))
    assert store.retry(chosen).skipped == ((held.job.id, "is running"),)
    assert store.kill(chosen).jobs
    assert store.asked(held) is Ask.KILL
    assert store.settle(held, Bury("late")).kept
    store.close()


_NUMBERS = ("run_at", "created_at", "attempts", "max_attempts", "crashes", "priority")
_BURIED = {
    *((column, value) for column in _NUMBERS for value in ("'soon'", "x'ff'")),
    ("attempts", "9e999"),
}


@pytest.mark.parametrize(
    "column",
    ["run_at", "created_at", "claimed_at", "attempts", "max_attempts", "crashes", "priority", "lost"],
)
@pytest.mark.parametrize("value", ["'soon'", "x'ff'", "9e999"])
def test_what_is_no_number_is_buried_and_stops_nobody(tmp_path: Path, column: str, value: str) -> None:
    path = tmp_path / "queue.db"
    store = open_store(path, TwoHands(wall=9e9), create=True)
    odd, fine = add(store, priority=1), add(store)
    _past_the_checks(path, f"UPDATE jobs SET {column} = {value} WHERE id = '{odd}'")
    assert {one.id for one in store.find(Selection(queue="mail"))} == {odd, fine}
    assert store.outlook([Rules("mail")], limit=5).due > 0
    claims = [claim(store) for _ in range(4)]
    assert fine in {one.job.id for one in claims if one}
    (record,) = store.find(Selection(ids=(odd,)))
    # What the claim itself sets right, or is large enough to compare with, harms nobody.
    assert (record.state is State.DEAD) == ((column, value) in _BURIED)
    store.close()


_LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from sqlqd.clock import SystemClock
from sqlqd.model import Bury, Selection, State
from sqlqd.store.sqlite import open_store
from tests.support.stores import claimed
path = Path(sys.argv[1])
store = open_store(path, SystemClock())
pages = int(Path("/proc/self/statm").read_text().split()[0])
most = pages * resource.getpagesize() + 25_000_000
resource.setrlimit(resource.RLIMIT_AS, (most, most))
assert len(store.expire_leases()) == 1
held = [claimed(store), claimed(store)]
assert [each.job.last_error for each in held] == [None, None]
assert store.settle(held[0], Bury("enough")).kept
print([dead.last_error for dead in store.find(Selection(states=frozenset({State.DEAD})))])
"""


def test_a_huge_error_stops_nobody_who_has_less_memory(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    open_store(path, TwoHands(), create=True).close()
    shell(
        path,
        "INSERT INTO jobs (id, queue, last_error) VALUES ('big', 'mail', printf('%.*c', 30000000, 'x')); "
        "INSERT INTO jobs (queue, locked_by, locked_until, last_error) "
        "SELECT queue, 'w', 1, last_error FROM jobs;",
    )
    assert python(_LITTLE_MEMORY, str(path)).stdout == "['enough']\n"


def test_one_dead_row_that_cannot_live_keeps_no_other_from_its_retry(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    store = open_store(path, TwoHands(), create=True)
    for name in ("odd", "fine"):
        shell(path, f"INSERT INTO jobs (id, queue, attempts, max_attempts) VALUES ('{name}', 'mail', 1, 1)")
    assert claim(store) is None
    _past_the_checks(path, "UPDATE dead_jobs SET priority = 5000, died_at = 'then' WHERE id = 'odd'")
    touched = store.retry(Selection(queue="mail"))
    assert [one.id for one in touched.jobs] == ["fine"]
    assert [(name, "priority must be" in reason) for name, reason in touched.skipped] == [("odd", True)]
    store.close()


def test_rows_numbered_below_zero_are_listed_and_retried(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    store = open_store(path, TwoHands(), create=True)
    shell(
        path,
        "INSERT INTO jobs (rowid, id, queue) VALUES (-5, 'below', 'mail'), "
        "(9223372036854775807, 'last', 'mail')",
    )
    assert [one.id for one in store.find(Selection(queue="mail"))] == ["below", "last"]
    assert [one.id for one in store.cancel(Selection(queue="mail")).jobs] == ["below", "last"]
    store.close()


def _past_the_checks(path: Path, statement: str) -> None:
    shell(path, f"PRAGMA ignore_check_constraints = ON; {statement};")
