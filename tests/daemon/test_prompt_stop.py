"""A stop is prompt, whoever holds the database's lock or does not read the log."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import cycle
from pathlib import Path

import pytest

from sqlqd import exits
from tests.support.daemon import SQLQD, Daemon, until

QUEUES = """
[queues.quick]
command = "echo ran >> ran; echo $SQLQD_JOB_ID"
cwd = "."
[queues.sleep]
command = "sleep $SQLQD_PAYLOAD"
lease = "4s"
kill_grace = "500ms"
"""


@contextmanager
def prompt(daemon: Daemon, seconds: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    took = time.monotonic() - began
    assert took < seconds, f"{took} s\n{daemon.log}"


def all_left_in_order(daemon: Daemon) -> None:
    assert not [record for record in daemon.events() if record["event"].endswith((".stuck", ".crashed"))]


def test_idle_under_a_lock(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES) as daemon:
        daemon.start()
        with daemon.locked(), prompt(daemon, 2.0):
            assert daemon.stop() == exits.OK
        all_left_in_order(daemon)


def test_while_claims_wait_for_a_lock(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES, workers=4) as daemon:
        daemon.start()
        for _ in range(3):
            daemon.insert("quick", delay=0.5)
        with daemon.locked():
            time.sleep(1.2)
            with prompt(daemon, 2.0):
                assert daemon.stop() == exits.OK
        all_left_in_order(daemon)
        assert daemon.sql("SELECT count(*), sum(attempts), count(locked_by) FROM jobs") == "3|0|0"


def test_while_a_command_runs_that_is_to_end_now(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES, daemon='drain_timeout = "0s"\nbusy_timeout = "1s"') as daemon:
        daemon.start()
        daemon.event("job.started", job_id=daemon.insert("sleep", "100"))
        with daemon.locked(), prompt(daemon, 7.0):
            assert daemon.stop() == exits.OK


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_while_nobody_reads_the_log(tmp_path: Path, number: signal.Signals) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    held = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    with suppress(BlockingIOError):
        while True:
            os.write(held, b"x" * 1024)
    run = (*SQLQD, "-c", str(tmp_path / "sqlqd.toml"), "run")
    command = ("/bin/sh", "-c", f'exec "$@" 2> {fifo}', "sh", *run)
    with Daemon(tmp_path, QUEUES, command=command) as daemon:
        daemon.start()
        for _ in range(5):
            daemon.insert("quick")
        until(lambda: daemon.sql("SELECT count(*) FROM jobs") == "0", "they are done")
        with prompt(daemon, 3.0):
            daemon.signal(number)
            assert daemon.ended() == exits.OK
    os.close(held)
    assert (tmp_path / "ran").read_text() == "ran\n" * 5


def test_whatever_signals_come_until_it_is_gone(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES, workers=1) as daemon:
        daemon.start()
        daemon.signal(signal.SIGTERM)
        for number in cycle((signal.SIGHUP, signal.SIGTERM, signal.SIGUSR2)):
            if not daemon.running:
                break
            daemon.signal(number)
            time.sleep(0.002)
        assert daemon.status == exits.OK
