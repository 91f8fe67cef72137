"""A stop signal at any moment of the start, and to a child in its first moments."""

import os
import signal
import time
from pathlib import Path

import pytest

from sqlqd import exits
from tests.support.daemon import Daemon, alive, children, until

QUEUES = '[queues.sleep]\ncommand = "sleep 5"\nkill_grace = "1s"\ndrain_timeout = "0s"\n'


@pytest.mark.case("C43")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_at_any_moment_of_the_start_is_a_clean_end(tmp_path: Path, number: signal.Signals) -> None:
    with Daemon(tmp_path, QUEUES, daemon='drain_timeout = "0s"') as daemon:
        for step in range(20):
            stop_after(daemon, step * 0.025, number)


def stop_after(daemon: Daemon, seconds: float, number: signal.Signals) -> None:
    daemon.start(ready=False)
    time.sleep(seconds)
    below = children(daemon.pid)
    daemon.signal(number)
    status = daemon.ended()
    # Before the interpreter runs any of our code, the signal has its default effect.
    early = (-number, exits.FAILED, exits.INTERRUPTED)
    assert status == 0 or (not below and status in early), (seconds, status, daemon.log)
    until(lambda: not any(alive(pid) for pid in below), "no worker is left")


@pytest.mark.case("C43")
def test_no_job_is_claimed_after_the_signal(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES, workers=4) as daemon:
        daemon.start()
        daemon.stop()
        for step in range(10):
            for _ in range(4):
                daemon.insert("sleep")
            daemon.start(ready=False)
            time.sleep(0.1 + step * 0.03)
            daemon.signal(signal.SIGTERM)
            assert daemon.ended() in (0, -signal.SIGTERM)
            assert daemon.sql("SELECT sum(attempts), count(locked_by) FROM jobs") == "0|0"
            daemon.sql("DELETE FROM jobs")


@pytest.mark.case("C43")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_to_a_worker_in_its_first_moment_harms_nobody(
    tmp_path: Path, number: signal.Signals
) -> None:
    with Daemon(tmp_path, QUEUES) as daemon:
        daemon.start()
        for _ in range(3):
            strike_early(daemon, number)
        assert daemon.stop() == 0


def strike_early(daemon: Daemon, number: signal.Signals) -> None:
    before = set(children(daemon.pid))
    first, sibling = daemon.worker_pids[1], daemon.worker_pids[2]
    os.kill(first, signal.SIGKILL)
    (fresh,) = until(lambda: set(children(daemon.pid)) - before, "a fresh worker")
    os.kill(fresh, number)
    if number is signal.SIGTERM:
        until(lambda: not alive(fresh), "it leaves by itself")
    gone = {first, fresh} if number is signal.SIGTERM else {first}
    until(lambda: daemon.worker_pids[1] not in gone, "worker 1 works again")
    assert alive(daemon.worker_pids[1])
    assert alive(sibling)
    assert daemon.running
