"""A reload is always answered, and either all of the new file is in force or all of the old."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.daemon import Daemon, until

OLD = '[queues.echo]\ncommand = "echo old"\n[queues.sleeper]\ncommand = "sleep 1"\n'


def syntax(text: str) -> str:
    return text.replace("[queues.echo]", "[queues.echo")


def wrong_type(text: str) -> str:
    return text.replace("old", "new") + "max_attempts = true\n"


def unknown_key(text: str) -> str:
    return text.replace("old", "new") + "retires = 3\n"


def answers(daemon: Daemon) -> int:
    """How often a reload was announced, each time with the moment, and then said to be over."""
    notices = daemon.notices
    begun = [place for place, line in enumerate(notices) if line == "RELOADING=1"]
    for place in begun:
        assert any(line.startswith("MONOTONIC_USEC=") for line in notices[place - 1 : place + 2])
    over = [place for place, line in enumerate(notices) if line == "READY=1"][1:]
    return len([place for place, end in zip(begun, over, strict=False) if place < end])


def status(daemon: Daemon) -> str:
    """What it told systemd last."""
    return [line for line in daemon.notices if line.startswith("STATUS=")][-1]


@pytest.mark.case("C48")
@pytest.mark.parametrize("broken", [syntax, wrong_type, unknown_key])
def test_a_broken_file_leaves_the_old_in_force(tmp_path: Path, broken: Callable[[str], str]) -> None:
    with Daemon(tmp_path, OLD) as daemon:
        daemon.start()
        good = daemon.config.read_text()
        daemon.config.write_text(broken(good))
        refused_and_mended(daemon, good)


@pytest.mark.case("C48")
@pytest.mark.parametrize("how", ["missing", "a directory"])
def test_a_file_that_cannot_be_read_leaves_the_old_in_force(tmp_path: Path, how: str) -> None:
    with Daemon(tmp_path, OLD) as daemon:
        daemon.start()
        good = daemon.config.read_text()
        daemon.config.unlink()
        if how == "a directory":
            daemon.config.mkdir()
        refused_and_mended(daemon, good)


def refused_and_mended(daemon: Daemon, good: str) -> None:
    running = daemon.insert("sleeper")
    daemon.event("job.started", job_id=running)
    daemon.signal(signal.SIGHUP)
    failed = daemon.event("daemon.reload_failed")
    assert str(daemon.config) in failed["reason"]
    until(lambda: answers(daemon) == 1, "the reload is answered")
    until(lambda: "reload failed" in status(daemon), "systemd is told")
    job = daemon.insert("echo")
    assert daemon.event("job.output", job_id=job)["line"] == "old"
    daemon.event("job.finished", job_id=running)
    assert len(daemon.events("job.started", job_id=running)) == 1
    if daemon.config.is_dir():
        daemon.config.rmdir()
    daemon.config.write_text(good.replace("old", "mended"))
    daemon.signal(signal.SIGHUP)
    daemon.event("daemon.reloaded")
    until(lambda: answers(daemon) == 2, "the reload is answered")
    assert "reload failed" not in status(daemon)
    job = daemon.insert("echo")
    assert daemon.event("job.output", job_id=job)["line"] == "mended"


@pytest.mark.case("C48")
def test_the_last_of_many_at_once_is_heeded(tmp_path: Path) -> None:
    with Daemon(tmp_path, OLD) as daemon:
        daemon.start()
        good = daemon.config.read_text()
        for number in range(5):
            daemon.config.write_text(good.replace("old", f"new {number}"))
            daemon.signal(signal.SIGHUP)

        def heeded() -> bool:
            job = daemon.insert("echo")
            return bool(daemon.event("job.output", job_id=job)["line"] == "new 4")

        until(heeded, "the last file is in force")
        daemon.signal(signal.SIGHUP)
        daemon.signal(signal.SIGTERM)
        os.kill(daemon.pid, signal.SIGHUP)
        assert daemon.ended() == 0
