"""Plain SQL as a way in: from the sqlite3 shell and from other programs' SQLite, old ones too."""

from pathlib import Path

import pytest

from sqlqd.model import Done, Outlook, Rules, Selection, State
from sqlqd.store.base import Store
from sqlqd.store.sqlite import open_store
from tests.support import sql
from tests.support.clocks import TwoHands
from tests.support.stores import add, claim, claimed, holder, seen

shell_only = pytest.mark.skipif(sql.SHELL is None, reason="there is no sqlite3 shell on this machine")


@pytest.fixture
def clock() -> TwoHands:
    # Later than anything that a database's own clock says while this runs.
    return TwoHands(wall=9e9)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "queue.db"


@pytest.fixture
def store(path: Path, clock: TwoHands) -> Store:
    return open_store(path, clock, create=True)


@shell_only
def test_the_plainest_insert_of_a_shell_is_a_job(store: Store, path: Path) -> None:
    told = sql.shell(path, "INSERT INTO jobs (queue, payload) VALUES ('mail', 'it''s here');")
    assert (told.returncode, told.stderr) == (0, "")
    held = claimed(store)
    job = held.job
    assert (job.queue, job.payload, job.priority, job.attempts, job.key) == ("mail", "it's here", 0, 1, None)
    assert len(job.id) == 32
    assert set(job.id) <= set("0123456789abcdef")
    assert store.settle(held, Done()).kept


def test_defaults_are_now_by_the_databases_clock(store: Store, path: Path) -> None:
    answers = sql.stdlib(
        path,
        "INSERT INTO jobs (queue) VALUES ('mail')",
        "SELECT abs(run_at - (julianday('now') - 2440587.5) * 86400.0) < 5, run_at = created_at, "
        "typeof(run_at), payload FROM jobs",
    )
    assert answers == [[], [[1, 1, "real", ""]]]


def test_ids_differ_in_one_statement(store: Store, path: Path) -> None:
    sql.rows(path, "INSERT INTO jobs (queue) VALUES ('a'), ('a'), ('a')")
    assert sql.rows(path, "SELECT count(DISTINCT id), min(length(id)) FROM jobs") == [[3, 32]]


def test_what_waits_may_be_changed_and_deleted(store: Store, path: Path, clock: TwoHands) -> None:
    first, second = add(store, payload="old", delay=600), add(store)
    sql.stdlib(
        path,
        "UPDATE jobs SET payload = 'new', run_at = 1, priority = 5 "
        f"WHERE id = '{first}' AND locked_by IS NULL",
        f"DELETE FROM jobs WHERE id = '{second}' AND locked_by IS NULL",
    )
    job = claimed(store).job
    assert (job.id, job.payload, job.priority) == (first, "new", 5)
    assert claim(store) is None


def test_on_conflict_do_nothing_keeps_a_key_once(store: Store, path: Path) -> None:
    insert = "INSERT INTO jobs (queue, key) VALUES ('mail', 'k')"
    answers = sql.stdlib(path, insert, f"{insert} ON CONFLICT DO NOTHING", insert)
    assert answers[:2] == [[], []]
    assert "UNIQUE constraint failed" in answers[2]


@pytest.mark.parametrize(
    ("columns", "values", "rule"),
    [
        ("payload", "'x'", "NOT NULL constraint failed: jobs.queue"),
        ("queue", "''", "queue must be"),
        ("queue", "x'6d61696c'", "queue must be"),
        ("queue", "'a' || char(0) || 'b'", "queue must be"),
        ("queue, payload", "'mail', x'00ff'", "payload must be"),
        ("queue, payload", "'mail', 'a' || char(0)", "payload must be"),
        ("queue, payload", "'mail', NULL", "NOT NULL constraint failed: jobs.payload"),
        ("queue, priority", "'mail', 101", "priority must be"),
        ("queue, priority", "'mail', 1.5", "priority must be"),
        ("queue, priority", "'mail', 'high'", "priority must be"),
        ("queue, max_attempts", "'mail', 0", "max_attempts must be"),
        ("queue, max_attempts", "'mail', 'many'", "max_attempts must be"),
        ("queue, attempts", "'mail', -1", "attempts must be"),
        ("queue, key", "'mail', ''", "key must be"),
        ("queue, key", "'mail', x'6b'", "key must be"),
        ("id, queue", "'', 'mail'", "id must be"),
        ("id, queue", "NULL, 'mail'", "NOT NULL constraint failed: jobs.id"),
        ("queue, created_at", "'mail', 'yesterday'", "created_at must be"),
        ("queue, locked_by", "'mail', 'me'", "locked_by and locked_until must be set together"),
        ("queue, locked_until", "'mail', 1.0", "locked_by and locked_until must be set together"),
        ("queue, locked_by, locked_until", "'mail', 'me', 'soon'", "locked_until must be"),
        ("queue, lost", "'mail', 2", "lost must be"),
    ],
)
def test_a_row_that_could_never_run_is_refused_with_the_rule(
    store: Store, path: Path, columns: str, values: str, rule: str
) -> None:
    (answer,) = sql.stdlib(path, f"INSERT INTO jobs ({columns}) VALUES ({values})")
    assert isinstance(answer, str)
    assert answer.startswith("IntegrityError")
    assert rule in answer
    assert sql.rows(path, "SELECT count(*) FROM jobs") == [[0]]


@pytest.mark.parametrize("column", ["id", "key", "payload"])
def test_text_that_is_not_utf8_is_buried_and_blocks_nobody(store: Store, path: Path, column: str) -> None:
    columns = {"queue": "'mail'", "payload": "'p'", "run_at": "1", column: "CAST(x'61ff8062' AS TEXT)"}
    sql.rows(path, f"INSERT INTO jobs ({', '.join(columns)}) VALUES ({', '.join(columns.values())})")
    fine = add(store, payload="fine")
    taken = store.claim(holder(), [Rules("mail")])
    assert taken.claim is not None
    assert taken.claim.job.id == fine
    assert [one.reason for one in taken.buried] == [f"the {column} is not valid UTF-8"]
    (dead,) = store.find(Selection(states=frozenset({State.DEAD})))
    assert getattr(dead, column) == "a\ufffd\ufffdb"
    assert len(store.purge(Selection(queue="mail")).jobs) == 1
    assert list(store.find(Selection(states=frozenset({State.DEAD})))) == []


def test_a_queue_that_is_not_utf8_waits_and_is_shown(store: Store, path: Path) -> None:
    sql.rows(path, "INSERT INTO jobs (queue) VALUES (CAST(x'6d61ff' AS TEXT))")
    add(store, "mb")
    assert claimed(store, "ma", "mb", "z").job.queue == "mb"
    assert [one.name for one in store.overview([]).queues] == ["ma\ufffd", "mb"]
    assert store.outlook([Rules("ma"), Rules("z")], limit=5).due == 0


def test_a_last_error_that_is_not_utf8_is_no_reason_to_die(store: Store, path: Path) -> None:
    sql.rows(path, "INSERT INTO jobs (queue, last_error) VALUES ('mail', CAST(x'ff' AS TEXT))")
    assert claimed(store).job.last_error == "\ufffd"


def test_a_foreign_lease_ends_by_the_wall_clock(store: Store, path: Path, clock: TwoHands) -> None:
    until = clock.wall() + 50
    sql.rows(
        path,
        "INSERT INTO jobs (queue, attempts, locked_by, locked_until) "
        f"VALUES ('mail', 1, 'somebody', {until!r})",
    )
    assert claim(store) is None
    clock.pass_by(49)
    assert len(store.expire_leases()) == 0
    clock.pass_by(1)
    assert len(store.expire_leases()) == 1
    assert claimed(store).job.attempts == 2


def test_a_lock_that_a_person_takes_off_makes_a_job_ready(store: Store, path: Path) -> None:
    job_id = add(store)
    held = claimed(store)
    sql.rows(path, "UPDATE jobs SET locked_by = NULL, locked_until = NULL")
    assert seen(store, job_id).state is State.READY
    assert not store.settle(held, Done()).kept
    assert len(store.expire_leases()) == 0
    assert claimed(store).job.id == job_id


def test_a_deleted_running_job_is_a_lost_lease(store: Store, path: Path) -> None:
    add(store)
    held = claimed(store)
    sql.rows(path, "DELETE FROM jobs")
    assert store.renew(held, 30.0) is None
    assert not store.settle(held, Done()).kept


def test_a_paused_queue_is_passed_over_until_its_time(store: Store, path: Path, clock: TwoHands) -> None:
    add(store)
    sql.rows(path, "INSERT INTO sqlqd_queues (queue, paused_at) VALUES ('mail', 1)")
    assert claim(store) is None
    assert store.outlook([Rules("mail")], limit=5) == Outlook(0, None)
    sql.rows(path, f"UPDATE sqlqd_queues SET paused_until = {clock.wall() + 20!r}")
    assert claim(store) is None
    assert store.outlook([Rules("mail")], limit=5).next_at == clock.wall() + 20
    store.unblock("mail")
    clock.pass_by(20)
    assert claim(store) is not None


def test_attempts_of_jobs_that_plain_sql_deleted_are_forgotten(store: Store, path: Path) -> None:
    add(store)
    claimed(store)
    store.end_leases([holder().uid])
    kept = add(store)
    claimed(store, who=holder(2))
    claimed(store, who=holder(3))
    store.end_leases([holder(3).uid])
    sql.rows(path, f"DELETE FROM jobs WHERE id <> '{kept}'")
    store.tidy()
    left = {job_id for (job_id,) in sql.rows(path, "SELECT job_id FROM sqlqd_attempts")}
    assert left <= {kept}
    assert sql.rows(
        path, "SELECT count(*) FROM sqlqd_attempts WHERE job_id NOT IN (SELECT id FROM jobs)"
    ) == [[0]]


def test_counts_by_slot_are_folded_into_one(store: Store, path: Path, clock: TwoHands) -> None:
    for _ in range(30):
        add(store)
        store.settle(claimed(store), Done())
        clock.pass_by(300)
    store.tidy()
    folded = sql.rows(path, "SELECT outcome, n FROM sqlqd_counters WHERE slot = 0")
    assert folded == [["done", 6]]
    assert sql.rows(path, "SELECT sum(n) FROM sqlqd_counters") == [[30]]


def test_at_most_100000_records_are_kept(store: Store, path: Path) -> None:
    sql.rows(
        path,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100010) "
        "INSERT INTO done_jobs (id, queue, attempts, ended_at, outcome, keep_until) "
        "SELECT i, 'mail', 1, 1, 'done', 9e10 FROM n",
    )
    while store.tidy():
        pass
    assert sql.rows(path, "SELECT count(*), min(number) FROM done_jobs") == [[100_000, 11]]
