"""How a command's end is read, and what people are told of it."""

from pathlib import Path

import pytest

from tests.support.lone_worker import LoneWorker

ENDINGS = {
    "kill": ("kill -9 $$", "killed by SIGKILL"),
    "kill-inside": ("sh -c 'kill -9 $$'; exit $?", "exit 137 (perhaps SIGKILL)"),
    "term": ("kill -15 $$", "killed by SIGTERM"),
    "abort": ("ulimit -c 0; kill -6 $$", "killed by SIGABRT"),
    "missing": ("no-such-program-anywhere", "exit 127"),
    "not-executable": ("exec $PLAIN", "exit 126"),
    "beyond": ("exit 300", "exit 44"),
    "again": ("exit 75", "exit 75"),
    "timeout": ("sleep 300", "timeout after 0.3 s"),
    "timeout-hard": ("trap '' TERM; while :; do sleep 0.1; done", "timeout after 0.3 s"),
    "timeout-polite": ("trap 'exit 0' TERM; while :; do sleep 0.1; done", "timeout after 0.3 s"),
}
SUCCESSES = {"wraps": "exit 256", "pipeline": "false | true"}


def queues(plain: Path) -> str:
    commands = {name: command for name, (command, _) in ENDINGS.items()} | SUCCESSES
    text = f"[defaults]\nkill_grace = '500ms'\nenv = {{PLAIN = '{plain}'}}\n"
    for name, command in commands.items():
        limit = "\ntimeout = '300ms'" if name.startswith("timeout") else ""
        text += f"[queues.{name}]\ncommand = '''{command}'''{limit}\n"
    return text


@pytest.mark.case("C26")
def test_every_end_is_what_it_is(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("not a program")
    with LoneWorker(tmp_path, queues(plain)) as worker:
        jobs = {name: worker.add(name) for name in (*ENDINGS, *SUCCESSES)}
        for name, (_, reason) in ENDINGS.items():
            failed = worker.event("job.failed", jobs[name])
            assert (name, failed["reason"]) == (name, reason)
            worker.event("job.retry", jobs[name])
            record = worker.record(jobs[name])
            assert record.last_error.splitlines()[0] == reason
            assert record.attempts == 1
        for name in SUCCESSES:
            ended = worker.ended(jobs[name])
            assert ended["event"] == "job.finished", ended


@pytest.mark.case("C26")
def test_signal_and_status_are_fields_of_the_record(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, queues(tmp_path)) as worker:
        killed, left = worker.add("kill"), worker.add("again")
        assert worker.event("job.failed", killed)["signal"] == "SIGKILL"
        assert "exit_code" not in worker.event("job.failed", killed)
        assert worker.event("job.failed", left)["exit_code"] == 75
        assert worker.event("job.failed", left)["level"] == "warning"
