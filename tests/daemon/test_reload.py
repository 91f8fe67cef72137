"""SIGHUP to the whole daemon: what runs goes on by the old settings, what begins goes by the new ones."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlqd import exits
from tests.support.daemon import CONFIG, Daemon, until

QUEUES = """
[defaults]
backoff = { initial = "0s", jitter = 0.0 }
timeout = "1h"
[queues.wait]
command = "while [ ! -e go ]; do sleep 0.05; done; echo old"
cwd = "."
[queues.missing]
command = ["./program"]
cwd = "."
"""
NEW = QUEUES.replace("echo old", "echo new") + '[queues.more]\ncommand = "echo more"\n'


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path, QUEUES) as made:
        yield made.start()


def reload(daemon: Daemon, queues: str, *, workers: int = 2, more: str = "") -> None:
    """Change the file, and wait until it is in force, or refused."""
    text = CONFIG.format(workers=workers, daemon=more, queues=queues)
    daemon.config.write_text(text, encoding="utf-8")
    ready = daemon.notices.count("READY=1")
    daemon.signal(signal.SIGHUP)
    until(lambda: daemon.notices.count("READY=1") > ready, f"ready again\n{daemon.log}")


def output(daemon: Daemon, job: str) -> str:
    daemon.event("job.finished", job_id=job)
    return " ".join(record["line"] for record in daemon.events("job.output", job_id=job))


def test_what_runs_goes_on_and_what_comes_goes_by_the_new_file(daemon: Daemon) -> None:
    running = daemon.insert("wait")
    daemon.event("job.started", job_id=running)
    reload(daemon, NEW, workers=3, more='log_level = "debug"')
    changes = "queues added: more; queues changed: wait; workers 2 -> 3; log_level info -> debug"
    assert daemon.events("daemon.reloaded")[0]["changes"] == changes
    later = [daemon.insert("wait"), daemon.insert("wait")]
    for job in later:
        daemon.event("job.started", job_id=job)
    document = json.loads(daemon.sqlqd("status", "--json").stdout)
    assert len(document["workers"]) == 3
    assert document["daemon"]["workers"] == 3
    assert document["daemon"]["loaded_at"] > document["daemon"]["started_at"]
    (daemon.home / "go").touch()
    assert [output(daemon, job) for job in (running, *later)] == ["old", "new", "new"]
    assert output(daemon, daemon.insert("more")) == "more"
    assert daemon.stop() == exits.OK


def test_a_worker_of_the_old_file_is_drained_by_a_stop(daemon: Daemon) -> None:
    job = daemon.insert("wait")
    daemon.event("job.started", job_id=job)
    reload(daemon, NEW, more='drain_timeout = "1h"')
    daemon.signal(signal.SIGTERM)
    daemon.event("daemon.stopping")
    (daemon.home / "go").touch()
    assert daemon.ended() == exits.OK
    assert output(daemon, job) == "old"


def test_a_held_queue_is_freed(daemon: Daemon) -> None:
    job = daemon.insert("missing")
    daemon.event("queue.blocked")
    program = daemon.home / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    reload(daemon, QUEUES)
    daemon.event("job.finished", patience=4, job_id=job)


def test_a_held_queue_is_freed_by_a_start_under_a_lock(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES, daemon='busy_timeout = "100ms"') as daemon:
        daemon.start()
        job = daemon.insert("missing")
        daemon.event("queue.blocked")
        daemon.stop()
        program = daemon.home / "program"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        daemon.sql("UPDATE sqlqd_queues SET blocks = 9, blocked_until = unixepoch() + 290 WHERE blocks > 0")
        with daemon.locked():
            daemon.start(ready=False)
            time.sleep(1.5)
        daemon.event("job.finished", job_id=job)


def test_another_database_waits_for_a_restart_and_that_is_said(daemon: Daemon) -> None:
    before = daemon.worker_pids
    other = CONFIG.format(workers=2, daemon="", queues=QUEUES).replace("queue.db", "other.db")
    daemon.config.write_text(other)
    daemon.signal(signal.SIGHUP)
    changes = daemon.event("daemon.reloaded")["changes"]
    assert changes == f"the database stays {daemon.database} until the daemon is restarted"
    (warning,) = daemon.events("daemon.database_stays")
    assert warning["level"] == "warning"
    assert (warning["database"], warning["reason"]) == (str(daemon.database), str(daemon.home / "other.db"))
    (daemon.home / "go").touch()
    daemon.event("job.finished", job_id=daemon.insert("wait"))
    assert daemon.worker_pids != before
    assert not (daemon.home / "other.db").exists()


def test_a_worker_that_dies_under_the_old_file_has_its_job_run_by_the_new_one(daemon: Daemon) -> None:
    job = daemon.insert("wait")
    record = daemon.event("job.started", job_id=job)
    reload(daemon, NEW, workers=1)
    os.kill(daemon.worker_pids[record["worker"]], signal.SIGKILL)
    until(lambda: len(daemon.events("job.started", job_id=job)) == 2, "it starts again")
    (daemon.home / "go").touch()
    assert output(daemon, job) == "new"
