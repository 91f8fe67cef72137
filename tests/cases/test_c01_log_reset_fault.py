"""SQLite before 3.51.3 can lose commits when its log is reset: it is told apart by version, and said once."""

import sys
from pathlib import Path

import pytest

from sqlqd.store.library import is_safe, version
from tests.support.daemon import Daemon
from tests.support.sql import run

OLD = "import apsw, sys; apsw.sqlite_lib_version = lambda: '3.40.1'; from sqlqd import cli; cli.main()"
QUEUES = '[queues.noop]\ncommand = ":"\ntimeout = "1min"\n'


@pytest.mark.case("C01")
@pytest.mark.parametrize(
    ("text", "safe"),
    [
        *(("3.7.0", False), ("3.40.1", False), ("3.44.5", False), ("3.44.6", True), ("3.44.7", True)),
        *(("3.45.0", False), ("3.50.6", False), ("3.50.7", True), ("3.51.0", False), ("3.51.2", False)),
        *(("3.51.3", True), ("3.53.0", True), ("3.54.1", True), ("4.0.0", True)),
    ],
)
def test_versions_are_told_apart_on_every_branch(text: str, *, safe: bool) -> None:
    assert is_safe(text) is safe


@pytest.mark.case("C01")
def test_the_one_that_is_installed_is_safe() -> None:
    assert is_safe(version())


@pytest.mark.case("C01")
def test_a_start_on_an_old_one_works_and_warns_once(tmp_path: Path) -> None:
    arguments = (sys.executable, "-c", OLD, "-c", str(tmp_path / "sqlqd.toml"), "run")
    with Daemon(tmp_path, QUEUES, workers=3, command=arguments) as daemon:
        daemon.start()
        daemon.event("job.finished", job_id=daemon.insert("noop"))
        (said,) = daemon.events("database.library")
        assert (said["level"], said["version"]) == ("warning", "3.40.1")
        assert daemon.sql("PRAGMA journal_mode") == "wal"
        assert daemon.stop() == 0


@pytest.mark.case("C01")
def test_check_warns_of_an_old_one_and_of_no_other(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path, QUEUES)
    old = run([sys.executable, "-c", OLD, "-c", str(daemon.config), "check"])
    assert "SQLite     3.40.1" in old.stdout
    assert "warning: SQLite 3.40.1 can lose what was committed" in old.stdout
    assert "can lose" not in daemon.sqlqd("check").stdout
