"""Many processes on one file: no job twice, none lost, and nobody hears of a lock."""

from collections import Counter
from pathlib import Path

from sqlqd.store.sqlite import open_store
from tests.support import sql
from tests.support.clocks import TwoHands
from tests.support.crowd import CONSUMER, PRODUCER, STRANGER, Crowd
from tests.support.stores import add

IDLE = 300
"""Looks in vain, 2 ms apart, after which a consumer goes home."""


def test_every_job_runs_once_however_many_take_part(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    open_store(path, TwoHands(), create=True).close()
    crowd = Crowd(path)
    for number in range(6):
        crowd.add(CONSUMER, number, [["a", None], ["b", None]], 0, IDLE, 0.0)
    for name in ("p", "q"):
        crowd.add(PRODUCER, "a", name, 150)
    crowd.add(STRANGER, "b", "s", 150)
    told = crowd.run()
    ran = Counter(payload for one in told[:6] for _, payload, _ in one)
    assert ran == Counter(f"{name}-{one}" for name in ("p", "q", "s") for one in range(150))
    assert {attempts for one in told[:6] for _, _, attempts in one} == {1}
    assert sql.rows(path, "SELECT count(*) FROM jobs") == [[0]]
    assert sql.rows(path, "SELECT count(*), count(DISTINCT id) FROM done_jobs") == [[450, 450]]
    assert sql.rows(path, "PRAGMA integrity_check") == [["ok"]]


def test_failures_are_tried_again_by_whoever_comes(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    store = open_store(path, TwoHands(), create=True)
    ids = {add(store, "a", run_at=0.0) for _ in range(200)}
    store.close()
    crowd = Crowd(path)
    for number in range(4):
        crowd.add(CONSUMER, number, [["a", None]], 1, 20, 0.0)
    ran = Counter((job_id, attempts) for one in crowd.run() for job_id, _, attempts in one)
    assert ran == Counter((job_id, attempts) for job_id in ids for attempts in (1, 2))


def test_a_limit_is_never_passed(tmp_path: Path) -> None:
    """A trigger of the test's own notes how many are leased after each claim. Each job takes a while."""
    path = tmp_path / "queue.db"
    store = open_store(path, TwoHands(), create=True)
    for _ in range(150):
        add(store, "a", run_at=0.0)
    store.close()
    sql.stdlib(
        path,
        "CREATE TABLE held (n)",
        "CREATE TRIGGER note AFTER UPDATE OF locked_by ON jobs WHEN NEW.locked_by IS NOT NULL BEGIN "
        "INSERT INTO held SELECT count(*) FROM jobs WHERE locked_by IS NOT NULL; END",
    )
    crowd = Crowd(path)
    for number in range(5):
        crowd.add(CONSUMER, number, [["a", 2]], 0, 30, 0.003)
    told = crowd.run()
    assert sum(len(one) for one in told) == 150
    assert sql.rows(path, "SELECT max(n), count(*) FROM held") == [[2, 150]]
