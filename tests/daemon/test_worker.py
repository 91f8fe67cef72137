"""A real worker process: jobs in, verdicts out, and a stop at any moment."""

import signal
from pathlib import Path

from tests.support.lone_worker import LoneWorker, alive, until

QUEUES = """
[queues.hello]
command = "echo hello $SQLQD_PAYLOAD"
[queues.fails]
command = "echo no >&2; exit 7"
backoff = {initial = "1h"}
[queues.dies]
command = "exit 7"
max_attempts = 1
[queues.sleeps]
command = "sleep 300 & setsid sleep 301 & echo $! > pid; wait"
cwd = "."
drain_timeout = "200ms"
kill_grace = "1s"
[queues.short]
command = "sleep 0.5; echo over"
lease = "2s"
[queues.missing]
command = "/nonexistent/program --now"
"""


def test_a_job_that_succeeds_is_gone(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("hello", "you")
        finished = worker.event("job.finished", job)
        assert finished["exit_code"] == 0
        assert [record["line"] for record in worker.events("job.output", job)] == ["hello you"]
        assert worker.record(job).state.value == "done"


def test_a_failure_waits_and_keeps_its_output(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("fails")
        worker.event("job.retry", job)
        record = worker.record(job)
        assert record.state.value == "scheduled"
        assert record.last_error == "exit 7\nno\n"
        assert worker.event("job.failed", job)["reason"] == "exit 7"


def test_a_job_without_attempts_left_is_dead(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("dies")
        assert worker.event("job.dead", job)["level"] == "error"
        record = worker.record(job)
        assert (record.state.value, record.reason) == ("dead", "exit 7")


def test_many_jobs_follow_each_other(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        jobs = {worker.add("hello", str(number)) for number in range(50)}
        until(lambda: len(worker.events("job.finished")) == 50)
        assert {record["job_id"] for record in worker.events("job.finished")} == jobs


def test_a_drain_lets_the_command_end_and_claims_nothing_more(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        first, second = worker.add("short"), worker.add("short")
        worker.event("job.started", first)
        worker.signal(signal.SIGTERM)
        assert worker.wait() == 0
        assert worker.record(first).state.value == "done"
        assert worker.record(second).state.value == "ready"
        assert worker.record(second).attempts == 0


def test_a_drain_that_times_out_releases(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("sleeps")
        stray = int(until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text()))
        worker.signal(signal.SIGTERM)
        assert worker.wait() == 0
        record = worker.record(job)
        assert (record.state.value, record.attempts) == ("ready", 0)
        assert worker.events("job.released", job)
        assert not alive(stray)


def test_told_to_end_now_it_does(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("sleeps")
        stray = int(until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text()))
        worker.signal(signal.SIGUSR1)
        assert worker.wait(5.0) == 0
        assert worker.record(job).attempts == 0
        assert not alive(stray)


def test_a_command_that_cannot_start_holds_its_queue_alone(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        held = worker.add("missing")
        other = worker.add("hello")
        blocked = worker.event("queue.blocked")
        assert "/nonexistent/program" in blocked["reason"]
        worker.event("job.finished", other)
        assert worker.record(held).attempts == 0
        assert len(worker.events("queue.blocked")) == 1


def test_commands_and_payloads_are_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    queues = "[queues.mail]\ncommand = 'echo é $WORD $SQLQD_PAYLOAD'\nenv = {WORD = 'grüße'}\n"
    locale = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with LoneWorker(tmp_path, queues, env=locale) as worker:
        job = worker.add("mail", "日本")
        assert worker.ended(job)["event"] == "job.finished"
        assert worker.events("job.output", job)[0]["line"] == "é grüße 日本"
