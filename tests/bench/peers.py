"""Other programs that run commands, each in its own documented way and at its best setting.

Each gets all its jobs before the clock starts where it can hold them: the first one waits on a pipe. Each has
to show that it ran them all, else its rate is none: MissedJobsError.
"""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.daemon import children, until

TASKS = Path(__file__).with_name("huey_tasks.py")
_PATIENCE = 300.0
_HELD = 400
"""Jobs that wait in task-spooler and nq are a process each, so that they are not given more."""
_JOB = ("sh", "-c", "true")


class MissedJobsError(Exception):
    """Fewer jobs ran than were asked for, or one failed: what was timed is not what is told."""


@dataclass(frozen=True)
class Peer:
    """One of them: how many jobs a second it gets through by that many at a time."""

    name: str
    title: str
    """How it was run."""
    there: Callable[[], bool]
    install: str
    rate: Callable[[int, int], float]
    most: int | None = None


def expect(name: str, ran: int, jobs: int) -> None:
    """Whoever ran fewer or more jobs has no rate."""
    if ran != jobs:
        raise MissedJobsError(f"{name} ran {ran} of {jobs} jobs")


def _run(words: list[str], *, env: Mapping[str, str] | None = None, text: str | None = None) -> str:
    done = subprocess.run(
        words,
        env=env and {**os.environ, **env},
        input=text,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    if done.returncode:
        raise MissedJobsError(f"{words[0]} exited with {done.returncode}: {done.stderr[-500:]}")
    return done.stdout


def xargs(jobs: int, at_once: int) -> float:
    """It exits with 123 if any command failed, and with 0 only at the end of its input."""
    numbers = "".join(f"{number}\n" for number in range(jobs))
    start = time.perf_counter()
    _run(["xargs", f"-P{at_once}", "-n1", *_JOB], text=numbers)
    return jobs / (time.perf_counter() - start)


def parallel(jobs: int, at_once: int) -> float:
    """Its log has a line for each job."""
    numbers = "".join(f"{number}\n" for number in range(jobs))
    with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
        log = Path(folder) / "log"
        env = {"PARALLEL_HOME": folder}
        Path(folder, "will-cite").touch()
        start = time.perf_counter()
        # The shell that it starts for each command is the `sh -c` of the others.
        words = ["parallel", f"-j{at_once}", "-n1", "--joblog", str(log), "true"]
        _run(words, env={**env, "PARALLEL_SHELL": "/bin/sh"}, text=numbers)
        elapsed = time.perf_counter() - start
        expect("GNU parallel", len(log.read_text().splitlines()) - 1, jobs)
    return jobs / elapsed


@contextmanager
def _gate(folder: Path) -> Iterator[tuple[Path, Callable[[int], object]]]:
    """A pipe from which jobs read a line, and what writes that many.

    Held open from the start, so that nobody waits for a reader that has died.
    """
    gate = folder / "gate"
    os.mkfifo(gate)
    held = os.open(gate, os.O_RDWR)
    try:
        yield gate, lambda lines: os.write(held, b"\n" * lines)
    finally:
        os.close(held)


def spooler(jobs: int, at_once: int) -> float:
    """task-spooler with that many slots, all of them held by one job until the others are there."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sqlqd-bench-")))
        with _gate(folder) as (gate, release), Spooler(folder, at_once) as made:
            made.add("-N", str(at_once), "sh", "-c", f"read x <{gate}")
            ids = [made.add(*_JOB) for _ in range(jobs)]
            start = time.perf_counter()
            release(1)
            for last in ids[-at_once:]:
                made.tell("-w", last)
            elapsed = time.perf_counter() - start
            expect("task-spooler", _spooler_succeeded(made, jobs + 1) - 1, jobs)
    return jobs / elapsed


def _spooler_succeeded(made: "Spooler", jobs: int) -> int:
    """How many exited with 0: the last one may end while another slot is still at one before it."""

    def ends() -> list[list[str]]:
        words = [line.split() for line in made.tell("-l").splitlines()[1:]]
        return [line[1:4:2] for line in words if line[1] == "finished"]

    soon(lambda: len(ends()) >= jobs, f"task-spooler has finished {jobs} jobs")
    return ends().count(["finished", "0"])


class Spooler:
    """A server of task-spooler's, with a socket of its own."""

    def __init__(self, folder: Path, slots: int) -> None:
        self.env = {
            "TS_SOCKET": str(folder / "socket"),
            "TMPDIR": str(folder),
            "TS_SLOTS": str(slots),
            "TS_MAXFINISHED": "10000",
        }

    def __enter__(self) -> "Spooler":
        self.tell("-S")
        return self

    def __exit__(self, *_: object) -> None:
        self.tell("-K")

    def add(self, *words: str) -> str:
        """Its id."""
        return self.tell(*words).strip()

    def tell(self, *words: str) -> str:
        """What tsp says."""
        return _run(["tsp", *words], env=self.env)


def nq(jobs: int, at_once: int) -> float:
    """One at a time in a folder, so that it gets a folder for each that shall run at once."""
    with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder, _gate(Path(folder)) as (gate, release):
        queues = [Path(folder) / str(number) for number in range(at_once)]
        for queue in queues:
            _run(["nq", "-q", "sh", "-c", f"read x <{gate}"], env={"NQDIR": str(queue)})
        for number in range(jobs):
            _run(["nq", "-q", *_JOB], env={"NQDIR": str(queues[number % at_once])})
        start = time.perf_counter()
        release(at_once)
        for queue in queues:
            _run(["nq", "-w"], env={"NQDIR": str(queue)})
        elapsed = time.perf_counter() - start
        expect("nq", _nq_succeeded(queues, jobs + at_once) - at_once, jobs)
    return jobs / elapsed


def _nq_succeeded(queues: list[Path], jobs: int) -> int:
    """How many exited with 0: it writes that after it has taken the job for done."""

    def ends() -> list[str]:
        texts = (file.read_text(errors="replace") for queue in queues for file in queue.glob(",*"))
        return [
            last
            for text in texts
            if (last := text.rstrip().rpartition("\n")[2]).startswith(("[exited", "[killed"))
        ]

    soon(lambda: len(ends()) >= jobs, f"nq has written the status of {jobs} jobs")
    return ends().count("[exited with status 0.]")


def huey_python() -> str | None:
    """One that has huey."""
    if importlib.util.find_spec("huey"):
        return sys.executable
    for folder in os.get_exec_path():
        found = shutil.which("python3", path=folder)
        if (
            found
            and not subprocess.run([found, "-c", "import huey"], capture_output=True, check=False).returncode
        ):
            return found
    return None


class Consumer:
    """huey's consumer on a SQLite file with so many processes as workers."""

    def __init__(self, folder: Path, workers: int, python: str) -> None:
        self._env = {**os.environ, "BENCH_HUEY": str(folder), "PYTHONPATH": str(TASKS.parent)}
        self._python = python
        self.words = [python, "-m", "huey.bin.huey_consumer", f"{TASKS.stem}.huey", "-n", "-q"]
        self.words += ["-k", "process", "-w", str(workers)]
        self.ran = folder / "ran"
        self.ran.touch()

    def add(self, jobs: int, held: int = 0) -> None:
        """That many, by one process; before them some that wait for the gate."""
        words = [self._python, "-c", f"import {TASKS.stem}; {TASKS.stem}.add({jobs}, {held})"]
        _run(words, env=self._env)

    def __enter__(self) -> "Consumer":
        self._process = subprocess.Popen(self.words, env=self._env, stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(30)

    def pids(self) -> list[int]:
        """The consumer and its workers."""
        return [self._process.pid, *children(self._process.pid)]


def huey(jobs: int, at_once: int) -> float:
    """Each of its workers is held by a job until the clock starts, so that its own start does not count."""
    python = huey_python()
    assert python is not None
    with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder, _gate(Path(folder)) as (_, release):
        made = Consumer(Path(folder), at_once, python)
        made.add(jobs, held=at_once)
        with made:
            until(lambda: made.ran.stat().st_size == at_once, "its workers are held")
            start = time.perf_counter()
            release(at_once)
            soon(lambda: made.ran.stat().st_size >= at_once + jobs, "huey has run all jobs")
            elapsed = time.perf_counter() - start
        expect("huey", made.ran.stat().st_size - at_once, jobs)
    return jobs / elapsed


def soon(true: Callable[[], bool], what: str) -> None:
    """Wait for what is timed: seen within 2 ms."""
    end = time.monotonic() + _PATIENCE
    while not true():
        if time.monotonic() > end:
            raise MissedJobsError(f"not within {_PATIENCE:g} s: {what}")
        time.sleep(0.002)


def _has(program: str) -> Callable[[], bool]:
    return lambda: shutil.which(program) is not None


ALL = (
    Peer("xargs", "xargs -P2", _has("xargs"), "apt install findutils", xargs),
    Peer("task-spooler", "task-spooler, 2 slots", _has("tsp"), "apt install task-spooler", spooler, _HELD),
    Peer("nq", "nq, 2 folders", _has("nq"), "apt install nq", nq, _HELD),
    Peer("GNU parallel", "GNU parallel -j2", _has("parallel"), "apt install parallel", parallel),
    Peer(
        "huey",
        "huey, 2 processes",
        lambda: huey_python() is not None,
        "python3 -m pip --python .venv/bin/python install huey",
        huey,
    ),
)


def absent() -> list[str]:
    """Who is not here, and how to have him."""
    found = [f"{peer.name} ({peer.install})" for peer in ALL if not peer.there()]
    return found if shutil.which("sqlite3") else [*found, "sqlite3 (apt install sqlite3)"]
