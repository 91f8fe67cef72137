"""The side file of locks, with real processes that hold them."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest

from sqlqd import presence, proc
from sqlqd.clock import SystemClock

CLOCK = SystemClock()


@contextmanager
def elsewhere(act: Callable[[], bool]) -> Iterator[bool]:
    """What `act` returned in another process, which lives on until the block ends."""
    told, tell = os.pipe2(os.O_CLOEXEC)
    stay, leave = os.pipe2(os.O_CLOEXEC)

    def child() -> int:
        os.close(leave)
        os.write(tell, b"1" if act() else b"0")
        os.read(stay, 1)
        return 0

    pid, pidfd = proc.fork(child)
    try:
        assert proc.wait([told], CLOCK.awake() + 10, CLOCK)
        yield os.read(told, 1) == b"1"
    finally:
        for descriptor in (told, tell, stay, leave, pidfd):
            os.close(descriptor)
        os.waitpid(pid, 0)


def announced(database: Path, pid: int) -> bool:
    return presence.Presence(database).announce(pid)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "queue.db"


def test_daemons_are_seen_while_they_live(database: Path) -> None:
    with ExitStack() as stack:
        for pid in (4_194_304, 1, 77, 78):
            assert stack.enter_context(elsewhere(partial(announced, database, pid)))
        assert presence.living(database) == [1, 77, 78, 4_194_304]
        here = presence.Presence(database)
        assert here.living() == [1, 77, 78, 4_194_304]
        here.close()
    assert presence.living(database) == []


def stops(database: Path, pid: int) -> bool:
    here = presence.Presence(database)
    here.announce(pid)
    here.stop(pid)
    here.stop(pid)
    return True


def test_those_that_stop_are_told_from_the_others(database: Path) -> None:
    assert presence.stopping(database) == []
    with ExitStack() as stack:
        stack.enter_context(elsewhere(partial(announced, database, 1)))
        for pid in (77, 4_194_304):
            stack.enter_context(elsewhere(partial(stops, database, pid)))
        assert presence.stopping(database) == [77, 4_194_304]
        assert presence.living(database) == [1, 77, 4_194_304]


def by_hangup(database: Path, pid: int) -> bool:
    return presence.Presence(database).announce(pid, hangup_stops=True)


def test_those_that_a_hangup_stops_are_told_from_the_others(database: Path) -> None:
    assert presence.stopped_by_hangup(database) == []
    with ExitStack() as stack:
        stack.enter_context(elsewhere(partial(announced, database, 1)))
        for pid in (77, 4_194_304):
            stack.enter_context(elsewhere(partial(by_hangup, database, pid)))
        assert presence.stopped_by_hangup(database) == [77, 4_194_304]
        assert presence.stopping(database) == []
        assert presence.living(database) == [1, 77, 4_194_304]


def test_nobody_lives_where_no_side_file_is_and_looking_makes_none(database: Path) -> None:
    assert presence.living(database) == []
    assert not presence.side_file(database).exists()


def test_the_database_itself_is_never_made_nor_opened(database: Path) -> None:
    here = presence.Presence(database)
    assert here.announce(5)
    assert here.elect()
    here.close()
    assert not database.exists()


def test_one_process_is_elected_and_another_once_it_is_gone(database: Path) -> None:
    here = presence.Presence(database)
    with elsewhere(lambda: presence.Presence(database).elect()) as won:
        assert won
        assert not here.elect()
    assert here.elect()
    assert here.elect()
    with elsewhere(lambda: presence.Presence(database).elect()) as won:
        assert not won
    here.close()


def test_a_fork_neither_inherits_nor_ends_the_locks(database: Path) -> None:
    here = presence.Presence(database)
    assert here.announce(99)

    def close_the_inherited_one() -> bool:
        here.close()
        return True

    with elsewhere(close_the_inherited_one), elsewhere(lambda: presence.living(database) == [99]) as seen:
        assert seen
    here.close()


def test_two_daemons_of_one_pid_do_not_fail(database: Path) -> None:
    here = presence.Presence(database)
    with elsewhere(lambda: presence.Presence(database).announce(1)) as first:
        assert first
        assert not here.announce(1)
    here.close()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_the_group_may_use_the_side_file_whatever_the_umask(database: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        presence.Presence(database).close()
    finally:
        os.umask(before)
    assert presence.side_file(database).stat().st_mode & 0o777 == 0o660


def test_a_removed_side_file_is_made_again_with_its_lock(database: Path) -> None:
    here = presence.Presence(database)
    assert here.announce(12)
    assert not here.renew()
    presence.side_file(database).unlink()
    assert here.renew()
    with elsewhere(lambda: presence.living(database) == [12]) as seen:
        assert seen
    here.close()


def test_a_side_file_that_is_a_link_is_not_followed(database: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").touch()
    presence.side_file(database).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        presence.Presence(database)


def test_a_stranger_that_locks_the_whole_file_is_no_daemon(database: Path) -> None:
    def lock_all() -> bool:
        fd = os.open(presence.side_file(database), os.O_RDWR | os.O_CREAT)
        fcntl.lockf(fd, fcntl.LOCK_EX)
        return True

    with elsewhere(lock_all):
        assert presence.living(database) == []
