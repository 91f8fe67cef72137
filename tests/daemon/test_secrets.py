"""Payloads and what `env` sets are in no log and no answer; files are open to the group at most."""

import os
import stat
from pathlib import Path

import pytest

from tests.support.daemon import Daemon, until
from tests.support.shell import Desk

HUSH = "s3cr3t-hush"
SAID = "s3cr3t-said"
QUEUES = f"""
[defaults]
env = {{ TOKEN = "{HUSH}" }}
max_attempts = 1
cwd = "."
max_payload = "300KiB"
[queues.good]
command = "true"
[queues.bad]
command = "exit 3"
[queues.slow]
command = "sleep 100"
timeout = "100ms"
kill_grace = "100ms"
[queues.missing]
command = "/nonexistent/program"
[queues.array]
command = ["no-such-program", "--now"]
[queues.nowhere]
command = "true"
cwd = "gone"
[queues.large]
command = "true"
[queues.json]
command = "true"
payload = "json"
[queues.small]
command = "true"
max_payload = "5"
"""
ENDED = ("job.finished", "job.dead", "queue.blocked", "job.released")


def test_neither_is_told_whatever_happens_to_the_job(tmp_path: Path) -> None:
    names = [line[8:-1] for line in QUEUES.splitlines() if line.startswith("[queues.")]
    with Daemon(tmp_path, QUEUES, daemon='log_level = "debug"') as daemon:
        daemon.start(umask=0)
        for name in names:
            times = 20_000 if name == "large" else 1
            payload = f"replace(hex(zeroblob({times})), '00', '{SAID}')"
            daemon.sql(f"INSERT INTO jobs (queue, payload) VALUES ('{name}', {payload})")
        for name in names:
            until(lambda: [r for r in daemon.events(queue=name) if r["event"] in ENDED], name)  # noqa: B023
        told = [daemon.sqlqd("check"), daemon.sqlqd("check", "--json"), daemon.sqlqd("status", "--json")]
        told += [daemon.sqlqd("list"), daemon.sqlqd("status")]
        text = "".join([daemon.log, *daemon.notices, *(one.stdout + one.stderr for one in told)])
        assert "TOKEN" in text
        assert HUSH not in text
        assert SAID not in text
        daemon.stop()
        assert SAID not in daemon.log


def test_no_file_of_ours_is_open_to_all_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        with Daemon(tmp_path, QUEUES) as daemon:
            daemon.sqlqd("enqueue", "good")
            daemon.start(umask=0)
            daemon.event("job.finished")
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("queue.db*")}
    finally:
        os.umask(old)
    assert modes == dict.fromkeys(["queue.db", "queue.db-wal", "queue.db-shm", "queue.db.lock"], 0o660)


@pytest.mark.parametrize(
    "env",
    [
        f'{{ TOKEN = ["{HUSH}"] }}',
        f'{{ TOKEN = {{ A = "{HUSH}" }} }}',
        f'{{ "A=B" = "{HUSH}" }}',
        f'{{ TOKEN = "{HUSH}\\u0000" }}',
        f'"{HUSH}"',
        f'["{HUSH}"]',
        f'{{ TOKEN = "{HUSH} }}',
        f'{{ SQLQD_X = "{HUSH}" }}',
        f'{{ TOKEN = "{HUSH}", TOKEN = "{HUSH}" }}',
    ],
)
def test_a_mistake_in_it_is_said_without_it(tmp_path: Path, env: str) -> None:
    desk = Desk(tmp_path, f'[queues.a]\ncommand = "true"\ntimeout = "1s"\nenv = {env}\n')
    for words in (["check"], ["check", "--json"], ["run"]):
        result = desk.run(*words)
        assert result.code == 78
        assert HUSH not in result.out + result.err
        assert ":4:" in result.err
