"""What a worker does between two commands, counted: an absolute time says nothing on another machine."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median

import pytest

from tests.support.lone_worker import ROOT, LoneWorker, until

QUEUES = '[queues.noop]\ncommand = ":"\n'
JOBS = 60
FIRST = 10
"""Jobs before the counted ones: whatever is done once is done by then."""

MOST_CALLS = 43
"""System calls of a worker for one job, without those on the database's files. Their number at the time of
writing, and two more for a kernel or an interpreter that does something else in two steps."""

_DATABASE = frozenset({"pwrite64", "fcntl", "fdatasync"})
_STARTS = frozenset({"fork", "vfork", "clone", "clone3"})


def traceable() -> bool:
    strace = shutil.which("strace")
    return strace is not None and (
        subprocess.run([strace, "-o", "/dev/null", "true"], check=False, capture_output=True).returncode == 0
    )


needs_strace = pytest.mark.skipif(not traceable(), reason="strace is not to be had, or may not trace here")


class Traced(LoneWorker):
    """A worker whose system calls are written down."""

    def work_off(self, *options: str) -> list[str]:
        """Get through JOBS jobs; the calls, a line each."""
        for _ in range(JOBS):
            self.add("noop")
        trace = self.directory / "trace"
        worker = [sys.executable, "-m", "tests.support.lone_worker", str(self.config)]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                ["strace", "-qq", "-e", "signal=none", *options, "-o", str(trace), *worker],
                stdin=subprocess.DEVNULL,
                stderr=log,
                cwd=ROOT,
                env=self._env,
                process_group=0,
            )
        try:
            until(lambda: len(self.events("job.finished")) == JOBS, 60.0)
            (pid,) = {record["pid"] for record in self.events("job.finished")}
            os.kill(pid, signal.SIGUSR1)
            self.process.wait(15)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        return trace.read_text(errors="replace").splitlines()


def calls(lines: list[str]) -> Iterator[str]:
    """The name of each."""
    for line in lines:
        if found := re.match(r"(?:\d+ +)?(\w+)\(", line):
            yield found[1]


def by_job(names: Iterator[str]) -> list[Counter[str]]:
    """What was called from one start of a command to the next."""
    found = [Counter[str]()]
    for name in names:
        if name in _STARTS:
            found.append(Counter())
        found[-1][name] += 1
    return found[1 + FIRST : -1]


@needs_strace
def test_a_job_costs_a_worker_few_system_calls(tmp_path: Path) -> None:
    jobs = by_job(calls(Traced(tmp_path, QUEUES).work_off()))
    assert len(jobs) == JOBS - FIRST - 1
    # A command that is slow to end wakes its worker once more: the median is one that was not.
    found = median(sum(job.values()) - sum(job[name] for name in _DATABASE) for job in jobs)
    assert found <= MOST_CALLS, dict(sum(jobs, Counter[str]()))


@needs_strace
def test_a_command_is_one_new_process_that_shares_its_workers_memory_until_it_is_the_shell(
    tmp_path: Path,
) -> None:
    lines = Traced(tmp_path, QUEUES).work_off("-f", "-e", "trace=execve,fork,vfork,clone,clone3")
    found = Counter(calls(lines))
    assert found["vfork"] + sum("CLONE_VFORK" in line for line in lines) == JOBS
    assert sum(found[name] for name in _STARTS) == JOBS
    assert sum('execve("/bin/sh"' in line for line in lines) == JOBS
    # The worker's own, which looks for its interpreter along the PATH.
    assert sum("execve(" in line and '"/bin/sh"' not in line and "= 0" in line for line in lines) == 1


def test_a_job_is_two_records_in_the_log(tmp_path: Path) -> None:
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("noop")
        worker.ended(job)
        assert [record["event"] for record in worker.events(job=job)] == ["job.started", "job.finished"]
