"""The database is removed or replaced under the daemon: it says so and goes on with what is there now."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon import Daemon, until

QUEUES = '[queues.noop]\ncommand = ":"\n'
MARKING = """
[queues.marking]
command = '''
exec 9> alone; flock -n 9 || exit 9
echo begin >> marks; until test -e go; do sleep 0.02; done; echo end >> marks
'''
cwd = "."
"""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path, QUEUES) as made:
        yield made.start()


@pytest.mark.case("C09")
def test_after_a_removal_new_jobs_run(daemon: Daemon) -> None:
    for path in daemon.home.glob("queue.db*"):
        path.unlink()
    done = daemon.sqlqd("enqueue", "noop")
    assert done.returncode == 0, done.stderr
    daemon.event("database.replaced", level="error")
    daemon.event("job.finished", job_id=done.stdout.strip())
    again = daemon.insert("noop")
    daemon.event("job.finished", job_id=again)
    assert daemon.running


@pytest.mark.case("C09")
def test_after_a_removal_it_waits_and_says_so_seldom(daemon: Daemon) -> None:
    for path in daemon.home.glob("queue.db*"):
        path.unlink()
    daemon.event("store.waiting")
    # By then each process has tried several times.
    until(lambda: len(daemon.events("store.waiting")) >= 3, "all wait")
    assert daemon.running
    assert len(daemon.events("store.waiting")) <= 5
    assert daemon.stop() == 0


@pytest.mark.case("C09")
def test_a_restored_backup_is_what_counts_from_then_on(daemon: Daemon) -> None:
    before = daemon.insert("noop")
    daemon.event("job.finished", job_id=before)
    backup = daemon.home / "backup.db"
    subprocess.run(["sqlite3", str(daemon.database), f".backup {backup}"], check=True, timeout=30)
    for number in range(20):
        daemon.insert("noop", str(number))
    backup.rename(daemon.database)
    for name in ("queue.db-wal", "queue.db-shm"):
        (daemon.home / name).unlink(missing_ok=True)
    daemon.event("database.replaced", level="error")
    job = daemon.sqlqd("enqueue", "noop").stdout.strip()
    daemon.event("job.finished", job_id=job)
    assert daemon.stop() == 0
    assert daemon.sql("PRAGMA integrity_check") == "ok"


def replaced_by_what_was_before(daemon: Daemon) -> None:
    """As it was before its only job was claimed: the job waits, and nobody holds it."""
    backup = daemon.home / "backup.db"
    daemon.sql(f"VACUUM INTO '{backup}'")
    waits = "attempts = 0, locked_by = NULL, locked_until = NULL, lease_boot = NULL, lease_end = NULL"
    subprocess.run(["sqlite3", str(backup), f"UPDATE jobs SET {waits}"], check=True, timeout=30)
    backup.rename(daemon.database)
    for name in ("queue.db-wal", "queue.db-shm"):
        (daemon.home / name).unlink(missing_ok=True)


def test_a_backup_from_before_a_claim_leads_to_no_second_execution(tmp_path: Path) -> None:
    with Daemon(tmp_path, MARKING, workers=3) as daemon:
        daemon.start()
        job = daemon.insert("marking")
        daemon.event("job.started", job_id=job)
        replaced_by_what_was_before(daemon)
        until(lambda: (tmp_path / "marks").read_text().count("begin") == 2, "it runs again")
        (tmp_path / "go").touch()
        daemon.event("job.finished", job_id=job)
        assert (tmp_path / "marks").read_text().split() == ["begin", "begin", "end"]
        assert len(daemon.events("job.lease_lost", job_id=job)) == 1
        # Whoever found the lock of the first still held would have said so.
        assert daemon.events("job.failed") == []
        assert daemon.events("worker.stuck") == []


def test_nor_does_it_by_another_daemon_that_notices_first(tmp_path: Path) -> None:
    (tmp_path / "busy").mkdir()
    queues = MARKING.replace('cwd = "."', f'cwd = "{tmp_path}"\nlease = "2s"')
    with Daemon(tmp_path, queues, workers=1) as quick, Daemon(tmp_path / "busy", queues, workers=1) as busy:
        busy.config.write_text(busy.config.read_text().replace("queue.db", str(quick.database)))
        busy.database = quick.database
        busy.start()
        job = busy.insert("marking")
        busy.event("job.started", job_id=job)
        quick.start()
        replaced_by_what_was_before(quick)
        # Its steward and its only worker are idle, and see that something was written.
        quick.sql("UPDATE jobs SET priority = 1")
        until(lambda: (tmp_path / "marks").read_text().count("begin") == 2, "it runs again")
        (tmp_path / "go").touch()
        until(lambda: quick.events("job.finished") or busy.events("job.finished"), "it ends")
        assert quick.events("job.failed") == busy.events("job.failed") == []
        assert len(busy.events("job.lease_lost", job_id=job)) == 1
