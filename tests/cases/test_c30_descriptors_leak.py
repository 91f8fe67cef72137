"""A command has descriptors 0, 1 and 2, and no other of the daemon's."""

import os
from pathlib import Path

import pytest

from tests.support.lone_worker import LoneWorker

QUEUES = """
[queues.list]
command = ["ls", "-l", "/proc/self/fd"]
[queues.environment]
command = "env"
"""


@pytest.mark.case("C30")
def test_only_the_standard_streams_are_open(tmp_path: Path) -> None:
    worker = LoneWorker(tmp_path, QUEUES)
    inherited = os.open(tmp_path / "lock", os.O_CREAT | os.O_RDWR)
    worker.start(pass_fds=(inherited,))
    try:
        for _ in range(2):
            job = worker.add("list")
            assert worker.ended(job)["event"] == "job.finished"
            lines = [record["line"] for record in worker.events("job.output", job)]
            links = [line.rsplit(" ", 3)[1:] for line in lines if "->" in line]
            assert [number for number, _, _ in links] == ["0", "1", "2", "3"]
            assert all(target.startswith("pipe:") for _, _, target in links[:3])
            # The listing's own.
            assert links[3][2].endswith("/fd")
    finally:
        worker.__exit__(None, None, None)
        os.close(inherited)


@pytest.mark.case("C30")
def test_nothing_of_what_systemd_told_the_daemon_is_passed_on(tmp_path: Path) -> None:
    secret = {
        "NOTIFY_SOCKET": "/run/notify",
        "WATCHDOG_USEC": "1",
        "WATCHDOG_PID": "1",
        "LISTEN_FDS": "1",
        "LISTEN_PID": "1",
        "LISTEN_FDNAMES": "x",
        "JOURNAL_STREAM": "1:1",
        "INVOCATION_ID": "x",
        "MAINPID": "1",
        "SQLQD_FAULT": "",
    }
    with LoneWorker(tmp_path, QUEUES, env={**secret, "CREDENTIALS_DIRECTORY": "/run/creds"}) as worker:
        job = worker.add("environment", "the payload", key="k")
        assert worker.ended(job)["event"] == "job.finished"
        env = dict(record["line"].split("=", 1) for record in worker.events("job.output", job))
    assert not secret.keys() & env.keys()
    assert env["CREDENTIALS_DIRECTORY"] == "/run/creds"
    assert env["SQLQD_JOB_ID"] == job
    assert env["SQLQD_QUEUE"] == "environment"
    assert env["SQLQD_KEY"] == "k"
    assert env["SQLQD_ATTEMPT"] == "1"
    assert env["SQLQD_MAX_ATTEMPTS"] == "20"
    assert env["SQLQD_CONFIG"] == str(worker.config)
    assert env["SQLQD_PAYLOAD"] == "the payload"
