"""Commands begin with every signal at its default, whatever started the daemon ignored or blocked."""

import signal
from pathlib import Path

import pytest

from tests.support.lone_worker import LoneWorker

QUEUES = """
[queues.head]
command = "yes | head -n 1"
timeout = "20s"
[queues.loop]
command = "sh -c 'while echo x; do :; done | head -n 1; echo done'"
timeout = "20s"
[queues.signals]
command = ["cat", "/proc/self/status"]
"""


def ignore_and_block() -> None:
    """What nohup, a shell's `trap ''` and a careless supervisor do before they start a daemon."""
    for number in (
        signal.SIGPIPE,
        signal.SIGHUP,
        signal.SIGINT,
        signal.SIGQUIT,
        signal.SIGCHLD,
        signal.SIGUSR2,
    ):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGALRM, signal.SIGRTMIN})


@pytest.mark.case("C28")
def test_signals_are_as_a_login_shell_would_have_them(tmp_path: Path) -> None:
    worker = LoneWorker(tmp_path, QUEUES)
    worker.start(preexec_fn=ignore_and_block)
    try:
        job = worker.add("signals")
        worker.event("job.finished", job)
        told = dict(record["line"].split(":", 1) for record in worker.events("job.output", job))
        assert {name: int(told[name], 16) for name in ("SigBlk", "SigIgn", "SigCgt")} == {
            "SigBlk": 0,
            "SigIgn": 0,
            "SigCgt": 0,
        }
    finally:
        worker.__exit__(None, None, None)


@pytest.mark.case("C28")
@pytest.mark.parametrize(("queue", "lines"), [("head", ["y"]), ("loop", ["x", "done"])])
def test_a_pipeline_ends_with_its_reader(tmp_path: Path, queue: str, lines: list[str]) -> None:
    worker = LoneWorker(tmp_path, QUEUES)
    worker.start(preexec_fn=ignore_and_block)
    try:
        job = worker.add(queue)
        assert worker.ended(job)["event"] == "job.finished"
        output = worker.events("job.output", job)
        assert [record["line"] for record in output if record["stream"] == "stdout"] == lines
        assert [record for record in output if record["stream"] == "stderr"] == []
    finally:
        worker.__exit__(None, None, None)
