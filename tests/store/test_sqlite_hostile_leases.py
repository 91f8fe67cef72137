"""What other programs write into a lease or a counter stops no chore for the others."""

from pathlib import Path

from sqlqd.store.sqlite import open_store
from tests.support.clocks import TwoHands
from tests.support.sql import rows, shell


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
    assert store.expire_leases() == 2
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
