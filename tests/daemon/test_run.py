"""`sqlqd run` as a whole: real database, workers, steward and commands."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlqd import exits
from tests.support.daemon import SQLQD, Daemon, alive, children, until

QUEUES = """
[defaults]
lease = "30s"
backoff = { initial = "0s", jitter = 0.0 }
kill_grace = "1s"
timeout = "1h"
[queues.note]
command = "echo $SQLQD_PAYLOAD >> out"
cwd = "."
[queues.sleep]
command = "sleep $SQLQD_PAYLOAD"
[queues.strays]
command = "setsid sleep 1001 & (sleep 1002 &) ; exec sleep $SQLQD_PAYLOAD"
[queues.stubborn]
command = "trap '' TERM; while :; do sleep 0.1; done"
[queues.env]
command = "env"
"""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path, QUEUES, daemon='drain_timeout = "30s"') as made:
        yield made


def test_a_job_that_plain_sql_inserts_runs_and_is_done(daemon: Daemon) -> None:
    daemon.start()
    job = daemon.insert("note", "hello")
    daemon.event("job.finished", job_id=job)
    assert (daemon.home / "out").read_text() == "hello\n"
    assert daemon.sql("SELECT count(*) FROM jobs") == "0"
    assert daemon.stop() == exits.OK


def test_jobs_are_picked_up_at_once(daemon: Daemon) -> None:
    daemon.start()
    waits = []
    for number in range(20):
        job = daemon.insert("note", str(number))
        inserted = time.monotonic()
        daemon.event("job.started", job_id=job)
        waits.append(time.monotonic() - inserted)
        daemon.event("job.finished", job_id=job)
    # Each worker looks by itself every two seconds: without the notices this would be a second.
    assert sorted(waits)[len(waits) // 2] < 0.3


def test_a_job_runs_when_its_time_has_come(daemon: Daemon) -> None:
    daemon.start()
    due = time.time() + 1.5
    job = daemon.insert("note", "later", delay=1.5)
    daemon.event("job.started", job_id=job)
    assert due - 0.1 <= time.time() < due + 1.0


def test_no_job_is_left_lying_when_many_come_at_once(daemon: Daemon) -> None:
    daemon.start()
    daemon.sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) "
        "INSERT INTO jobs (queue, payload) SELECT 'note', i FROM n"
    )
    until(lambda: len(daemon.events("job.finished")) == 50, "all 50 are done")


def test_the_database_is_made_with_access_for_the_group(daemon: Daemon) -> None:
    daemon.start(umask=0o077)
    assert daemon.database.stat().st_mode & 0o777 == 0o660
    assert Path(f"{daemon.database}.lock").stat().st_mode & 0o777 == 0o660


def test_commands_see_nothing_of_what_was_meant_for_the_daemon(daemon: Daemon) -> None:
    daemon.start()
    job = daemon.insert("env")
    daemon.event("job.finished", job_id=job)
    names = {record["line"].partition("=")[0] for record in daemon.events("job.output", job_id=job)}
    assert "SQLQD_JOB_ID" in names
    assert not names & {"NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS"}


def test_status_follows_the_work(daemon: Daemon) -> None:
    daemon.start()
    until(lambda: "STATUS=0 of 2 workers busy, 0 ready, 0 dead" in daemon.notices, "idle")
    for _ in range(5):
        daemon.insert("sleep", "100")
    until(lambda: "STATUS=2 of 2 workers busy, 3 ready, 0 dead" in daemon.notices, "busy")


def test_a_stop_lets_the_command_end(daemon: Daemon) -> None:
    daemon.start()
    job = daemon.insert("sleep", "1")
    daemon.event("job.started", job_id=job)
    waiting = daemon.insert("note", "not now", delay=0.2)
    assert daemon.stop() == exits.OK
    assert daemon.events("job.finished", job_id=job)
    assert not daemon.events("job.started", job_id=waiting)
    assert daemon.sql("SELECT id, attempts, locked_by IS NULL FROM jobs") == f"{waiting}|0|1"


def test_a_drain_that_takes_too_long_releases_the_job(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES, daemon='drain_timeout = "300ms"') as daemon:
        daemon.start()
        job = daemon.insert("stubborn")
        daemon.event("job.started", job_id=job)
        assert daemon.stop() == exits.OK
        assert daemon.events("job.released", job_id=job)
        assert daemon.sql("SELECT attempts, locked_by IS NULL FROM jobs") == "0|1"


def test_a_second_interrupt_releases_at_once(daemon: Daemon) -> None:
    daemon.start()
    job = daemon.insert("strays", "1003")
    pid = int(daemon.event("job.started", job_id=job)["pid"])
    daemon.signal(signal.SIGINT)
    daemon.event("daemon.stopping")
    daemon.signal(signal.SIGINT)
    assert daemon.ended(10) == exits.OK
    assert not alive(pid)
    assert daemon.sql("SELECT attempts, locked_by IS NULL FROM jobs") == "0|1"


def test_it_stops_at_once_while_the_database_is_locked(daemon: Daemon) -> None:
    daemon.start()
    # The lock is given up only when the daemon has ended.
    with daemon.locked():
        assert daemon.stop() == exits.OK


def offspring(pid: int) -> list[int]:
    return [one for child in children(pid) for one in (child, *offspring(child))]


def test_a_killed_workers_job_runs_again_at_once_and_nothing_of_it_is_left(daemon: Daemon) -> None:
    daemon.start()
    job = daemon.insert("strays", "1003")
    first = daemon.event("job.started", job_id=job)
    worker = daemon.worker_pids[first["worker"]]
    left = until(lambda: len(found := offspring(worker)) >= 3 and found, "its strays")
    end = float(daemon.sql("SELECT lease_end FROM jobs"))
    os.kill(worker, signal.SIGKILL)
    daemon.event("job.started", job_id=job, attempt=2)
    assert time.monotonic() < end
    assert not any(alive(pid) for pid in left)
    assert daemon.running


@pytest.mark.parametrize(("who", "stood"), [("parent", "sqlqd/parent/"), ("worker", "sqlqd/worker/")])
def test_what_a_watchdog_aborts_shows_in_the_log_where_it_stood(daemon: Daemon, who: str, stood: str) -> None:
    daemon.start()
    os.kill(daemon.pid if who == "parent" else daemon.worker_pids[1], signal.SIGABRT)
    until(lambda: "Fatal Python error: Aborted" in daemon.log and stood in daemon.log, "its stack is told")
    if who == "parent":
        assert daemon.ended() == -signal.SIGABRT
    else:
        daemon.event("worker.crashed")


def test_a_killed_steward_is_replaced_and_wakes_again(daemon: Daemon) -> None:
    daemon.start()
    before = daemon.steward_pid
    os.kill(before, signal.SIGKILL)
    until(lambda: daemon.steward_pid != before, "another steward")
    job = daemon.insert("note", "on")
    daemon.event("job.finished", job_id=job)
    assert len(daemon.events("steward.crashed")) == 1


def test_without_a_steward_nothing_is_lost_but_speed(daemon: Daemon) -> None:
    daemon.start()
    os.kill(daemon.steward_pid, signal.SIGSTOP)
    job = daemon.insert("note", "slowly")
    daemon.event("job.finished", job_id=job, patience=10)
    os.kill(daemon.steward_pid, signal.SIGCONT)


def test_two_daemons_share_a_file_and_one_takes_over_the_chores(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with Daemon(tmp_path, QUEUES) as one, Daemon(tmp_path / "other", QUEUES) as two:
        two.config.write_text(two.config.read_text().replace('"queue.db"', f'"{one.database}"'))
        one.start()
        two.start()
        jobs = [one.insert("sleep", "0.3") for _ in range(4)]
        until(
            lambda: (
                {job["job_id"] for daemon in (one, two) for job in daemon.events("job.finished")} == set(jobs)
            ),
            "all are done",
        )
        assert one.events("job.finished")
        assert two.events("job.finished")
        assert one.stop() == exits.OK
        job = one.insert("note", "still")
        two.event("job.finished", job_id=job)


def test_a_configuration_that_is_wrong_ends_it_before_anything_is_made(daemon: Daemon) -> None:
    daemon.config.write_text("[daemon]\ndatabase = 3\n")
    daemon.start(ready=False)
    assert daemon.ended() == exits.CONFIG
    assert f"{daemon.config}:2" in daemon.log
    assert not daemon.database.exists()


def test_a_database_that_is_newer_or_not_ours_ends_it_at_once(daemon: Daemon) -> None:
    daemon.sql("CREATE TABLE jobs (mine TEXT)")
    daemon.start(ready=False)
    assert daemon.ended() == exits.FAILED
    assert len(daemon.log.splitlines()) == 1
    assert "READY=1" not in daemon.notices


def test_a_job_that_ends_long_after_the_stop_leaves_no_complaint(daemon: Daemon) -> None:
    daemon.start()
    daemon.insert("sleep", "4")
    daemon.event("job.started")
    assert daemon.stop() == exits.OK
    assert daemon.events("job.finished")
    assert not daemon.events("worker.stuck")


def test_a_second_daemon_says_that_it_is_not_alone(daemon: Daemon, tmp_path: Path) -> None:
    daemon.start()
    other = tmp_path / "other"
    other.mkdir()
    with Daemon(other, command=(*SQLQD, "-c", str(daemon.config), "run")).start() as second:
        assert second.event("daemon.shared")["count"] == 1
    assert not daemon.events("daemon.shared")


def test_a_held_queue_is_free_once_somebody_says_that_it_is_mended(daemon: Daemon) -> None:
    program = daemon.home / "program"
    with daemon.config.open("a") as config:
        config.write(f'[queues.late]\ncommand = ["{program}"]\n')
    daemon.start()
    job = daemon.insert("late")
    daemon.event("queue.blocked")
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert "no longer held" in daemon.sqlqd("retry", "--queue", "late").stdout
    # The hold itself would have lasted for five seconds.
    daemon.event("job.finished", patience=4, job_id=job)


def test_a_start_frees_held_queues(daemon: Daemon) -> None:
    program = daemon.home / "program"
    with daemon.config.open("a") as config:
        config.write(f'[queues.late]\ncommand = ["{program}"]\n')
    daemon.start()
    job = daemon.insert("late")
    daemon.event("queue.blocked")
    assert daemon.stop() == exits.OK
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    daemon.start()
    daemon.event("job.finished", job_id=job)
