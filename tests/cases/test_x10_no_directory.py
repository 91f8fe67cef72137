"""A database that cannot be made: one clear line, no READY, no directory made."""

from pathlib import Path

import pytest

from sqlqd import exits
from tests.support.daemon import Daemon

QUEUES = '[queues.noop]\ncommand = ":"\n'


def refused(daemon: Daemon, status: int, *words: str) -> None:
    daemon.start(ready=False)
    assert daemon.ended() == status
    assert "READY=1" not in daemon.notices
    (line,) = daemon.log.splitlines()
    assert line.startswith("sqlqd: ")
    for word in words:
        assert word in line


def put(daemon: Daemon, database: str) -> None:
    daemon.config.write_text(daemon.config.read_text().replace('"queue.db"', f'"{database}"'))


@pytest.mark.case("X10")
def test_a_missing_directory_is_named_and_not_made(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES) as daemon:
        put(daemon, "missing/queue.db")
        refused(daemon, exits.FAILED, str(tmp_path / "missing"), "does not exist")
        assert not (tmp_path / "missing").exists()


@pytest.mark.case("X10")
def test_once_the_directory_is_there_it_starts(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES) as daemon:
        put(daemon, "late/queue.db")
        refused(daemon, exits.FAILED, "does not exist")
        (tmp_path / "late").mkdir()
        daemon.start()
        assert (tmp_path / "late" / "queue.db").exists()


@pytest.mark.case("X10")
def test_a_relative_path_is_relative_to_the_configuration_for_all(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES) as daemon:
        daemon.start(cwd="/")
        done = daemon.sqlqd("enqueue", "noop")
        daemon.event("job.finished", job_id=done.stdout.strip())
        assert str(daemon.database) in daemon.sqlqd("check").stdout


@pytest.mark.case("X10")
def test_a_directory_in_its_place_is_named(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES) as daemon:
        daemon.database.mkdir()
        refused(daemon, exits.IO, str(daemon.database), "directory")


@pytest.mark.case("X10")
def test_a_directory_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES) as daemon:
        # Not even root may make a file there.
        put(daemon, "/sys/queue.db")
        refused(daemon, exits.DENIED, "/sys")
