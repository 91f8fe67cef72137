"""The queue for programs, as the documentation shows it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sqlqd
from tests.support import sql

_CLAIMER = """
import sys
import sqlqd
with sqlqd.connect(sys.argv[1]) as queue:
    print("ready", flush=True)
    sys.stdin.readline()
    while claim := queue.claim("mail"):
        print(claim.id, flush=True)
        queue.finish(claim)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "queue.db"


def test_the_walk_through(path: Path) -> None:
    with sqlqd.connect(path) as queue:
        first = queue.enqueue("send-email", "to: you")
        second = queue.enqueue("resize-image", "cat.png")
        claim = queue.claim("send-email", "resize-image")
        assert claim is not None
        assert (claim.id, claim.queue, claim.payload, claim.attempts) == (first, "send-email", "to: you", 1)
        queue.finish(claim)
        claim = queue.claim("send-email", "resize-image")
        assert claim is not None
        assert (claim.id, claim.queue, claim.payload) == (second, "resize-image", "cat.png")
        queue.retry_later(claim, delay=60.0)
        assert queue.claim("send-email", "resize-image") is None


def test_with_no_delay_each_claim_raises_attempts(path: Path) -> None:
    with sqlqd.connect(path) as queue:
        job_id = queue.enqueue("mail")
        for attempt in range(1, 6):
            claim = queue.claim("mail")
            assert claim is not None
            assert (claim.id, claim.attempts) == (job_id, attempt)
            queue.retry_later(claim, delay=0.0)


def test_two_processes_never_get_the_same_job(path: Path) -> None:
    with sqlqd.connect(path) as queue:
        ids = queue.enqueue_many([sqlqd.NewJob("mail", str(number)) for number in range(300)])
    claimers = [
        subprocess.Popen(
            [sys.executable, "-c", _CLAIMER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for _ in range(2)
    ]
    for claimer in claimers:
        assert claimer.stdout is not None
        assert claimer.stdout.readline() == "ready\n"
    for claimer in claimers:
        assert claimer.stdin is not None
        claimer.stdin.write("go\n")
        claimer.stdin.flush()
    taken = [claimer.communicate(timeout=50)[0].split() for claimer in claimers]
    assert [claimer.returncode for claimer in claimers] == [0, 0]
    assert sorted(taken[0] + taken[1]) == sorted(ids)
    assert all(taken)


def test_a_job_whose_lease_ended_is_claimed_again(path: Path) -> None:
    with sqlqd.connect(path) as queue:
        job_id = queue.enqueue("mail")
        stale = queue.claim("mail", lease=0.05)
        assert stale is not None
        again = None
        while again is None:
            again = queue.claim("mail")
        assert (again.id, again.attempts) == (job_id, 2)
        with pytest.raises(sqlqd.LeaseLost, match=job_id):
            queue.finish(stale)
        with pytest.raises(sqlqd.LeaseLost):
            queue.renew(stale)
        with pytest.raises(sqlqd.LeaseLost):
            queue.retry_later(stale)
        queue.finish(again)


def test_renewing_gives_another_lease(path: Path) -> None:
    with sqlqd.connect(path) as queue:
        queue.enqueue("mail")
        claim = queue.claim("mail", lease=5.0)
        assert claim is not None
        renewed = queue.renew(claim, lease=500.0)
        assert renewed.until > claim.until + 400
        queue.finish(claim)


def test_what_a_producer_may_say(path: Path) -> None:
    with sqlqd.connect(path) as queue:
        queue.enqueue("mail", "late", delay=60.0)
        queue.enqueue("mail", "low", priority=-5)
        key = queue.enqueue("mail", "high", priority=5, key="k")
        assert queue.enqueue("mail", "again", key="k") == key
        claim = queue.claim("mail")
        assert claim is not None
        assert claim.payload == "high"
        with pytest.raises(sqlqd.JobRefused, match="priority"):
            queue.enqueue("mail", priority=101)
        with pytest.raises(sqlqd.JobRefused, match="a str, and is of type bytes: decode it"):
            queue.enqueue("mail", b"bytes")  # type: ignore[arg-type]  # what people try


def test_a_job_that_used_up_its_attempts_is_not_given_out(path: Path) -> None:
    with sqlqd.connect(path) as queue:
        queue.enqueue("mail", "bad", max_attempts=1)
        queue.enqueue("mail", "good")
        claim = queue.claim("mail")
        assert claim is not None
        queue.retry_later(claim, delay=0.0, error="no luck")
        claim = queue.claim("mail")
        assert claim is not None
        assert claim.payload == "good"


@pytest.mark.parametrize("lease", [0.0, -1.0, float("inf"), float("nan")])
def test_a_lease_that_is_none_is_refused(path: Path, lease: float) -> None:
    with sqlqd.connect(path) as queue, pytest.raises(ValueError, match="lease"):
        queue.claim("mail", lease=lease)


def test_a_claim_needs_a_queue(path: Path) -> None:
    with sqlqd.connect(path) as queue, pytest.raises(ValueError, match="queue"):
        queue.claim()


def test_queues_of_one_claimer_take_turns(path: Path) -> None:
    with sqlqd.connect(path) as queue:
        for name in ("a", "a", "a", "b", "c"):
            queue.enqueue(name)
        order = []
        while claim := queue.claim("b", "c", "a"):
            order.append(claim.queue)
            queue.finish(claim)
        assert order == ["b", "c", "a", "a", "a"]


def test_a_file_that_is_open_here_is_refused_however_it_is_named(path: Path, tmp_path: Path) -> None:
    with sqlqd.connect(path):
        (tmp_path / "link.db").symlink_to(path)
        for name in (path, tmp_path / "link.db", os.path.relpath(path)):
            with pytest.raises(sqlqd.StoreError, match="open already"):
                sqlqd.connect(name)
    sqlqd.connect(path).close()


_BESIDE = """
import sqlite3, sys
import sqlqd
path = sys.argv[1]
app = sqlite3.connect(path)
app.execute("CREATE TABLE IF NOT EXISTS mine (n)")
try:
    sqlqd.connect(path)
except sqlqd.StoreError as error:
    print(error)
app.execute("INSERT INTO mine VALUES (1)")
app.commit()
app.close()
with sqlqd.connect(path) as queue:
    print(queue.claim("mail"))
"""


def test_a_second_sqlite_on_the_file_is_refused(path: Path) -> None:
    sqlqd.connect(path).close()
    told = sql.python(_BESIDE, str(path)).stdout.splitlines()
    assert "open already" in told[0]
    assert told[1] == "None"
    assert sql.rows(path, "SELECT n FROM mine") == [[1]]


_FORKED = """
import os, sys
import sqlqd
queue = sqlqd.connect(sys.argv[1])
child = os.fork()
if not child:
    try:
        queue.enqueue("mail")
    except sqlqd.StoreError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
queue.enqueue("mail", "parent")
queue.close()
"""


def test_an_open_queue_does_not_cross_a_fork(path: Path) -> None:
    assert "connect again in the new process" in sql.python(_FORKED, str(path)).stdout
    assert sql.rows(path, "SELECT payload FROM jobs") == [["parent"]]


def test_importing_sqlqd_loads_neither_sqlite() -> None:
    told = sql.python("import sys, sqlqd; print(sorted({'apsw', 'sqlite3', '_sqlite3'} & set(sys.modules)))")
    assert told.stdout == "[]\n"
