"""A command's standard input is its payload, then the end: never what the daemon itself was given."""

import os
import pty
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.lone_worker import LoneWorker

QUEUES = """
[defaults]
timeout = "20s"
[queues.cat]
command = "cat"
[queues.read]
command = "read x; echo got:$x; read y || echo end"
[queues.again]
command = "cat >/dev/null; readlink /proc/self/fd/0 | cut -d: -f1"
"""


def _terminal() -> dict[str, Any]:
    ours, theirs = pty.openpty()
    os.write(ours, b"typed by the operator\n")
    return {"stdin": theirs}


def _pipe() -> dict[str, Any]:
    read, write = os.pipe()
    os.write(write, b"meant for somebody else\n")
    return {"stdin": read}


def _closed() -> dict[str, Any]:
    return {"stdin": None, "preexec_fn": lambda: os.close(0)}


@pytest.mark.case("C29")
@pytest.mark.parametrize("how", [_terminal, _pipe, _closed])
def test_it_gets_the_payload_and_then_the_end(tmp_path: Path, how: Callable[[], dict[str, Any]]) -> None:
    worker = LoneWorker(tmp_path, QUEUES)
    worker.start(**how())
    try:
        jobs = {name: worker.add(name, "one\n") for name in ("cat", "read", "again")}
        nothing = worker.add("cat")
        said = {}
        for job in (*jobs.values(), nothing):
            assert worker.ended(job)["event"] == "job.finished"
            said[job] = [record["line"] for record in worker.events("job.output", job)]
        assert said[jobs["cat"]] == ["one"]
        assert said[jobs["read"]] == ["got:one", "end"]
        assert said[jobs["again"]] == ["pipe"]
        assert said[nothing] == []
    finally:
        worker.__exit__(None, None, None)
