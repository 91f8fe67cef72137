"""One real worker process on a real file, without parent or steward: what a daemon's worker does by itself.

Run as a program it is that worker; `LoneWorker` starts and watches it from a test.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

ROOT = Path(__file__).parents[2]
T = TypeVar("T")


def until(look: Callable[[], T], seconds: float = 20.0) -> T:
    """What `look` gives once it is true; fails the test after `seconds`."""
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, f"waited {seconds} s in vain"
        time.sleep(0.01)
    return found


def alive(pid: int) -> bool:
    """Whether a process of that number runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


class LoneWorker:
    """A worker on `directory/queue.db` with the queues of a piece of TOML. Its log is read as records."""

    def __init__(
        self, directory: Path, queues: str, *, daemon: str = "", env: dict[str, str] | None = None
    ) -> None:
        self.directory = directory
        self.config = directory / "sqlqd.toml"
        self.database = directory / "queue.db"
        self.config.write_text(f'[daemon]\ndatabase = "queue.db"\nworkers = 1\n{daemon}\n{queues}')
        self._log = directory / f"worker-{time.monotonic_ns()}.log"
        self._env = {**os.environ, **(env or {})}
        self.process: subprocess.Popen[bytes] | None = None
        with self.store():
            pass

    def __enter__(self) -> "LoneWorker":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGUSR1)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def start(self, **options: Any) -> None:
        """Start the process; `options` as of subprocess.Popen."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.lone_worker", str(self.config)],
                **{"stdin": subprocess.DEVNULL, "stderr": log, "cwd": ROOT, "env": self._env, **options},
            )

    @property
    def pid(self) -> int:
        """The worker's."""
        assert self.process is not None
        return self.process.pid

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def wait(self, seconds: float = 20.0) -> int:
        """Its exit status."""
        assert self.process is not None
        return self.process.wait(seconds)

    @contextmanager
    def store(self) -> Iterator[Any]:
        """A store of our own on the same file."""
        from sqlqd.clock import SystemClock  # noqa: PLC0415 - apsw is not to be loaded in every test
        from sqlqd.store.sqlite import open_store  # noqa: PLC0415

        store = open_store(self.database, SystemClock(), create=True, migrate=True)
        try:
            yield store
        finally:
            store.close()

    def add(self, queue: str, payload: str = "", **more: Any) -> str:
        """Enqueue one job; its id."""
        from sqlqd.model import NewJob  # noqa: PLC0415

        with self.store() as store:
            return str(store.enqueue([NewJob(queue, payload, **more)])[0].id)

    def record(self, job: str) -> Any:
        """The job wherever it stands; None where it is gone."""
        with self.store() as store:
            return store.record(job)

    def sql(self, statement: str, *values: Any, checked: bool = True) -> list[Any]:
        """Run one statement as a stranger would; or as none could, past the schema's checks."""
        import apsw  # noqa: PLC0415

        connection = apsw.Connection(str(self.database))
        try:
            connection.set_busy_timeout(5000)
            connection.execute(f"PRAGMA ignore_check_constraints = {'OFF' if checked else 'ON'}")
            return list(connection.execute(statement, values).fetchall())
        finally:
            connection.close()

    def events(self, name: str | None = None, job: str | None = None) -> list[dict[str, Any]]:
        """The records so far, of one event, of one job."""
        lines = self._log.read_bytes().splitlines(keepends=True)
        records = [json.loads(line) for line in lines if line.endswith(b"\n")]
        return [
            record
            for record in records
            if (name is None or record["event"] == name) and (job is None or record.get("job_id") == job)
        ]

    def text(self) -> bytes:
        """The whole log as it was written."""
        return self._log.read_bytes()

    def event(self, name: str, job: str | None = None, seconds: float = 20.0) -> dict[str, Any]:
        """The first record of an event, once there is one."""
        return until(lambda: self.events(name, job), seconds)[0]

    def ended(self, job: str, seconds: float = 30.0) -> dict[str, Any]:
        """The record that says how the job's first attempt ended."""
        names = ("job.finished", "job.failed", "job.dead", "job.released", "job.lease_lost", "job.cancelled")
        return until(lambda: [r for r in self.events(job=job) if r["event"] in names], seconds)[0]


def main(path: str) -> int:
    """Be the worker in slot 1 of a daemon that is whoever started this process."""
    from functools import partial  # noqa: PLC0415

    from sqlqd import config, log, proc  # noqa: PLC0415
    from sqlqd.board import Board  # noqa: PLC0415
    from sqlqd.clock import SystemClock  # noqa: PLC0415
    from sqlqd.seat import Role, Seat  # noqa: PLC0415
    from sqlqd.store.sqlite import open_store  # noqa: PLC0415
    from sqlqd.worker import work  # noqa: PLC0415

    proc.fill_standard_descriptors()
    proc.reset_dispositions()
    loaded = config.load(Path(path))
    log.setup(loaded.daemon.log_format, loaded.daemon.log_level)
    wake, _ = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    parent = os.getppid()
    seat = Seat(
        role=Role.WORKER,
        slot=1,
        number=1,
        uid=os.urandom(8).hex(),
        replaces=(),
        parent_pid=parent,
        parent_pidfd=os.pidfd_open(parent),
        wake_fd=wake,
        wakers=(),
        board=Board(),
    )
    opener = partial(
        open_store,
        loaded.daemon.database,
        SystemClock(),
        busy_timeout=loaded.daemon.busy_timeout,
        autocheckpoint=False,
    )
    return work(seat, loaded, opener)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
