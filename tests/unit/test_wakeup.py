"""When looks follow notices, and whom they wake."""

import errno
import math
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlqd.board import Board, Cell
from sqlqd.seat import Role, Seat
from sqlqd.steward.bell import Bell
from sqlqd.steward.wakeup import DEAF, DULL, LADDER, POLL_INTERVAL, Attention, Ladder, Notices


def looks(ladder: Ladder, until: float) -> list[float]:
    """Look whenever it is due: when that was."""
    taken = []
    while ladder.due <= until:
        now = ladder.due
        taken.append(now)
        ladder.looked(now)
    return taken


def test_without_a_notice_nobody_looks() -> None:
    assert Ladder().due == math.inf


def test_a_notice_is_followed_by_every_rung_and_then_by_nothing() -> None:
    ladder = Ladder()
    ladder.notice(100.0)
    assert looks(ladder, 200.0) == [100.0 + rung for rung in LADDER]
    assert ladder.due == math.inf


def test_a_late_look_serves_for_the_rungs_before_it() -> None:
    ladder = Ladder()
    ladder.notice(100.0)
    ladder.looked(100.02)
    assert ladder.due == 100.0 + 0.03


@given(st.lists(st.floats(min_value=0.0, max_value=1.0), min_size=1, max_size=50))
def test_however_notices_come_each_is_followed_by_a_look_soon_and_one_late(gaps: list[float]) -> None:
    ladder, now, taken, notices = Ladder(), 100.0, [], []
    for gap in gaps:
        now += gap
        taken += looks(ladder, now)
        ladder.notice(now)
        notices.append(now)
    taken += looks(ladder, now + 10)
    for notice in notices:
        assert any(notice < look <= notice + 0.001 for look in taken)
        assert any(notice + 0.09 < look for look in taken)
    assert max(taken) == pytest.approx(notices[-1] + LADDER[-1])


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "queue.db"


@pytest.fixture
def notices(database: Path) -> Iterator[Notices]:
    made = Notices(database)
    yield made
    made.close()


def sqlite(database: Path, statements: str) -> None:
    subprocess.run(["sqlite3", str(database), statements], check=True, timeout=30, stdout=subprocess.DEVNULL)


def test_a_commit_is_noticed_and_a_look_is_not(database: Path, notices: Notices) -> None:
    sqlite(database, "PRAGMA journal_mode=WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1);")
    assert notices.take()[0]
    keeper = subprocess.Popen(
        ["sqlite3", str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert keeper.stdin is not None
    assert keeper.stdout is not None
    keeper.stdin.write("SELECT count(*) FROM t;\n")
    keeper.stdin.flush()
    assert keeper.stdout.readline() == "1\n"
    notices.take()
    keeper.stdin.write("SELECT count(*) FROM t;\n")
    keeper.stdin.flush()
    assert keeper.stdout.readline() == "1\n"
    assert notices.take() == (False, False)
    keeper.stdin.write("INSERT INTO t VALUES (2);\nSELECT count(*) FROM t;\n")
    keeper.stdin.flush()
    assert keeper.stdout.readline() == "2\n"
    assert notices.take() == (True, False)
    keeper.stdin.write("PRAGMA wal_checkpoint(PASSIVE);\n")
    keeper.stdin.flush()
    assert keeper.stdout.readline()
    assert notices.take() == (False, False)
    keeper.communicate(timeout=30)


def test_other_files_beside_it_do_not_matter(database: Path, notices: Notices) -> None:
    for name in ("queue.db.lock", "queue.db-shm", "other.db-wal", "queue.db-walrus"):
        (database.parent / name).write_text("x")
    assert notices.take() == (False, False)


def test_another_file_in_its_place_is_noticed(database: Path, notices: Notices) -> None:
    database.write_bytes(b"")
    notices.take()
    (database.parent / "new").write_bytes(b"")
    (database.parent / "new").rename(database)
    assert notices.take() == (True, True)
    database.unlink()
    assert notices.take() == (True, True)


def test_the_loss_of_the_directory_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    made = Notices(tmp_path / "home" / "queue.db")
    (tmp_path / "home").rmdir()
    assert made.take() == (True, True)
    assert made.lost
    made.close()


def test_links_to_the_database_are_followed(tmp_path: Path, database: Path, notices: Notices) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.db"
    link.symlink_to(database)
    linked = Notices(link)
    (tmp_path / "queue.db-wal").write_text("x")
    assert linked.take()[0]
    linked.close()


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file") as caught:
        Notices(tmp_path / "missing" / "queue.db")
    assert caught.value.errno == errno.ENOENT


def commit(database: Path) -> None:
    database.with_name("queue.db-wal").write_text("x")


def test_while_somebody_is_idle_a_notice_leads_to_looks(database: Path) -> None:
    attention = Attention(database)
    assert not attention.listen(10.0, idle=True)
    assert attention.descriptors(10.0)
    assert attention.deadline(10.0) == math.inf
    commit(database)
    assert attention.listen(20.0, idle=True)
    assert attention.deadline(20.0) == 20.0 + LADDER[0]
    assert not attention.is_due(20.0)
    assert attention.is_due(20.001)
    attention.looked(20.001)
    assert attention.deadline(20.002) == 20.003
    attention.close()


def test_a_storm_of_notices_wakes_no_oftener_than_it_must(database: Path) -> None:
    attention = Attention(database)
    attention.listen(10.0, idle=True)
    commit(database)
    assert attention.listen(20.0, idle=True)
    commit(database)
    assert attention.descriptors(20.0) == []
    assert not attention.listen(20.0 + DULL / 2, idle=True)
    assert attention.listen(20.0 + DULL, idle=True)
    attention.close()


def test_while_all_are_busy_notices_are_rarely_taken_and_none_is_forgotten(database: Path) -> None:
    attention = Attention(database)
    attention.listen(10.0, idle=False)
    assert attention.descriptors(10.0)
    commit(database)
    assert attention.listen(20.0, idle=False)
    assert attention.descriptors(20.0) == []
    assert attention.deadline(20.0) == 20.0 + DEAF
    assert not attention.listen(20.0 + DEAF, idle=True)
    assert attention.is_due(20.0 + DEAF)
    attention.looked(20.0 + DEAF)
    assert attention.deadline(20.0 + DEAF) == 20.1
    attention.close()


def test_where_there_are_no_notices_it_looks_by_the_clock(database: Path) -> None:
    def none(_: Path) -> Notices:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    attention = Attention(database, none)
    assert attention.listen(10.0, idle=True)
    assert attention.trouble == "Too many open files"
    assert attention.descriptors(10.0) == []
    attention.looked(10.4)
    assert attention.deadline(10.0) == 10.0 + POLL_INTERVAL
    assert attention.listen(10.5, idle=True)


def test_notices_that_were_lost_are_asked_for_again(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    attention = Attention(home / "queue.db")
    assert not attention.listen(10.0, idle=True)
    home.rmdir()
    assert attention.listen(11.0, idle=True)
    assert attention.replaced
    home.mkdir()
    attention.listen(12.0, idle=True)
    commit(home / "queue.db")
    assert attention.trouble == ""
    assert attention.listen(13.0, idle=True)
    attention.close()


class Workers:
    """The wake-up pipes and rows of three workers."""

    def __init__(self) -> None:
        self.board = Board(4)
        self.pipes = [os.pipe2(os.O_NONBLOCK) for _ in range(3)]
        self.closed: set[int] = set()
        writes = tuple(write for _, write in self.pipes)
        self.bell = Bell(Seat(Role.STEWARD, 0, 1, "u", (), 1, -1, -1, writes, self.board))
        for slot in (1, 2, 3):
            self.board.put_time(slot, Cell.STARTED, 1.0)
            self.board.put_time(slot, Cell.BEAT, 1.0)

    def woken(self) -> list[int]:
        found = []
        for number, (read, _) in enumerate(self.pipes):
            try:
                found += [number] * len(os.read(read, 100))
            except BlockingIOError:
                continue
        return found


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers()
    yield made
    for read, write in made.pipes:
        os.close(write)
        if read not in made.closed:
            os.close(read)


def test_who_is_idle(workers: Workers) -> None:
    workers.board.put(2, Cell.BUSY, 1)
    workers.board.put(3, Cell.STARTED, 0)
    assert workers.bell.idle() == [0]


def test_as_many_are_woken_as_jobs_are_due(workers: Workers) -> None:
    workers.bell.ring([0, 1, 2], 2, 10.0)
    assert workers.woken() == [0, 1]
    workers.bell.ring([0, 1, 2], 0, 10.0)
    assert workers.woken() == []


def test_whoever_is_on_the_way_is_not_woken_again_nor_another_for_the_same_job(workers: Workers) -> None:
    workers.bell.ring([0, 1, 2], 1, 10.0)
    workers.bell.ring([0, 1, 2], 1, 10.001)
    assert workers.woken() == [0]
    workers.bell.ring([0, 1, 2], 2, 10.002)
    assert workers.woken() == [1]


def test_one_that_came_round_for_nothing_is_woken_again(workers: Workers) -> None:
    workers.bell.ring([0], 1, 10.0)
    workers.board.put_time(1, Cell.BEAT, 10.001)
    workers.bell.ring([0], 1, 10.003)
    assert workers.woken() == [0, 0]


def test_one_that_does_not_come_is_not_waited_for(workers: Workers) -> None:
    workers.bell.ring([0, 1], 1, 10.0)
    workers.bell.ring([1], 1, 10.2)
    assert workers.woken() == [0, 1]


def test_a_full_pipe_is_no_failure(workers: Workers) -> None:
    for number in range(70_000):
        workers.bell.ring([0], 1, float(number))
    assert workers.woken()


def test_a_pipe_that_nobody_has_any_more_is_no_failure(workers: Workers) -> None:
    workers.closed = {read for read, _ in workers.pipes[:1]}
    os.close(*workers.closed)
    workers.bell.ring([0, 1], 2, 10.0)
    assert [len(os.read(read, 100)) for read, _ in workers.pipes[1:2]] == [1]
