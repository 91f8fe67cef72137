"""Children that die at once, or hang before their first look: pauses that grow, one line, no storm."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from sqlqd import exits
from tests.support.daemon import SQLQD, Daemon, alive, children, until

ROOT = Path(__file__).parents[2]
QUEUES = '[queues.noop]\ncommand = ":"\n'


@pytest.mark.case("C46")
def test_a_schema_from_the_future_ends_it_with_one_line(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES) as daemon:
        daemon.start().stop()
        daemon.sql("UPDATE sqlqd_schema SET version = 1000")
        written = len(daemon.log.splitlines())
        daemon.start(ready=False)
        assert daemon.ended() == exits.FAILED
        (line,) = daemon.log.splitlines()[written:]
        assert "newer" in line
        assert "READY=1" not in daemon.notices


@pytest.mark.case("C46")
def test_a_file_that_is_no_database_ends_it_with_one_line(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES) as daemon:
        daemon.database.write_text("this is not a database, whatever its name says\n" * 100)
        daemon.start(ready=False)
        assert daemon.ended() == exits.FAILED
        assert len(daemon.log.splitlines()) == 1


@pytest.mark.case("C46")
def test_too_few_descriptors_end_it_without_a_storm(tmp_path: Path) -> None:
    limited = (
        "/bin/sh",
        "-c",
        'ulimit -n 12; exec "$@"',
        "sh",
        *SQLQD,
        "-c",
        str(tmp_path / "sqlqd.toml"),
        "run",
    )
    with Daemon(tmp_path, QUEUES, workers=4, command=limited) as daemon:
        daemon.start(ready=False)
        assert daemon.ended() not in (0, None)
        assert len(daemon.log.splitlines()) < 40
        assert "READY=1" not in daemon.notices


def standin(home: Path, **how: object) -> Daemon:
    command = (sys.executable, "-m", "tests.support.standin", str(home / "queue.db"))
    return Daemon(home, command=command, env={"STANDIN": json.dumps(how), "PYTHONPATH": str(ROOT)})


@pytest.mark.case("C46")
def test_a_child_that_hangs_before_it_starts_is_killed_and_replaced(tmp_path: Path) -> None:
    with standin(tmp_path, worker="hang_later", workers=1, start_patience=3.0) as daemon:
        daemon.start()
        first = children(daemon.pid)[1]
        os.kill(first, signal.SIGKILL)
        hung = until(lambda: [pid for pid in children(daemon.pid)[1:] if pid != first], "a replacement")[0]
        record = daemon.event("worker.stuck", worker_pid=hung)
        assert record["reason"] == "it does not start"
        until(lambda: not alive(hung), "it is killed")
        daemon.event("worker.cannot_start", reason="it does not start")
        assert daemon.stop() == 0


@pytest.mark.case("C46")
def test_starts_that_keep_failing_cost_next_to_nothing(tmp_path: Path) -> None:
    with standin(tmp_path, worker="crash_later", workers=1) as daemon:
        daemon.start()
        began = time.monotonic()
        os.kill(children(daemon.pid)[1], signal.SIGKILL)
        daemon.event("worker.cannot_start", failures=4)
        # The next pauses are 1.6 and 3.2 seconds: by then two more starts, and no line but for the 8th.
        until(lambda: any("cannot start" in line for line in daemon.notices), "its status")
        assert len(daemon.events("worker.cannot_start")) <= 3
        used = Path(f"/proc/{daemon.pid}/stat").read_text().rpartition(")")[2].split()
        spent = (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")
        assert spent < (time.monotonic() - began) / 3
