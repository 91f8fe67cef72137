"""A real daemon on a temporary configuration: started, watched, signalled, and gone when the test is over."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PATIENCE = 20.0
SQLQD = (sys.executable, "-c", "import sys; from sqlqd.cli import main; sys.argv[0] = 'sqlqd'; main()")

CONFIG = """\
[daemon]
database = "queue.db"
workers = {workers}
log_format = "json"
{daemon}
{queues}
"""


def until(true: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
    """Wait for a condition, with a bound: its value."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if value := true():
            return value
        time.sleep(0.01)
    raise AssertionError(f"not within {patience} s: {what}")


def alive(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def children(pid: int) -> list[int]:
    """The children of a process, the dead ones too."""
    try:
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def crew(daemon: "Daemon") -> list[int]:
    """The steward and the workers of a daemon that live, the oldest first."""
    return [pid for pid in children(daemon.pid) if alive(pid)]


def said(daemon: "Daemon", word: str) -> list[list[str]]:
    """What stood behind that word on each line that began with it."""
    return [line.split()[1:] for line in daemon.log.splitlines() if line.startswith(f"{word} ")]


def _record(line: str) -> dict[str, Any] | None:
    """The record of a line; None for what is none, or not whole: a writer's death may cut one short."""
    try:
        found: dict[str, Any] = json.loads(line[max(0, line.rfind('{"timestamp"')) :])
    except json.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


class Daemon:
    """One daemon's home: its configuration, database, log and what it tells systemd."""

    def __init__(
        self,
        home: Path,
        queues: str = "",
        *,
        workers: int = 2,
        daemon: str = "",
        env: Mapping[str, str] | None = None,
        command: tuple[str, ...] | None = None,
    ) -> None:
        """`daemon`: more lines of the table [daemon]. `command`: another program than `sqlqd run`."""
        self.home = home
        self.database = home / "queue.db"
        self.config = home / "sqlqd.toml"
        self.config.write_text(CONFIG.format(workers=workers, daemon=daemon, queues=queues), encoding="utf-8")
        self._command = command or (*SQLQD, "-c", str(self.config), "run")
        self._env = {"PATH": os.environ["PATH"], **(env or {})}
        self._receiver: socket.socket | None = None
        self._notices: list[str] = []
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """As it is; `start` starts it."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """End the daemon, and see to it that nothing of it is left."""
        if self._receiver is not None:
            self._receiver.close()
            self._receiver = None
        if self.process is not None:
            offspring = [below for child in children(self.process.pid) for below in (child, *children(child))]
            self.process.kill()
            self.process.wait(PATIENCE)
            until(lambda: not any(alive(pid) for pid in offspring), f"its processes {offspring} are gone")

    def start(self, *, ready: bool = True, **how: Any) -> Self:
        """Start it; and wait until it says that it is ready. An earlier one must have ended, or be ending."""
        if self.process is not None:
            self.process.wait(PATIENCE)
        if self._receiver is not None:
            self._receiver.close()
        self._receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        name = f"sqlqd-test-{os.urandom(8).hex()}"
        self._receiver.bind(f"\0{name}")
        self._receiver.setblocking(False)  # noqa: FBT003 - the call has no keywords
        self._notices = []
        with (self.home / "daemon.log").open("ab") as log:
            self.process = subprocess.Popen(
                self._command,
                env={**self._env, "NOTIFY_SOCKET": f"@{name}"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/" if "cwd" not in how else how.pop("cwd"),
                **how,
            )
        if ready:
            until(self._is_ready, "the daemon is ready")
        return self

    def _is_ready(self) -> bool:
        assert self.running, f"it ended with {self.status}:\n{self.log}"
        return "READY=1" in self.notices

    @property
    def pid(self) -> int:
        """Of the parent."""
        assert self.process is not None
        return self.process.pid

    @property
    def running(self) -> bool:
        """Whether the parent lives."""
        return self.process is not None and self.process.poll() is None

    @property
    def status(self) -> int | None:
        """The parent's exit status, once it has ended."""
        return None if self.process is None else self.process.poll()

    @property
    def notices(self) -> list[str]:
        """Every line that it told systemd so far."""
        assert self._receiver is not None
        while True:
            try:
                self._notices += self._receiver.recv(4096).decode().splitlines()
            except BlockingIOError:
                return self._notices

    @property
    def log(self) -> str:
        """Everything that it wrote."""
        return (self.home / "daemon.log").read_text(encoding="utf-8")

    def events(self, name: str = "", **fields: Any) -> list[dict[str, Any]]:
        """The records of one event, with these fields."""
        records = [record for line in self.log.splitlines() if (record := _record(line))]
        return [
            record
            for record in records
            if (not name or record["event"] == name) and fields.items() <= record.items()
        ]

    def event(self, name: str, patience: float = PATIENCE, **fields: Any) -> dict[str, Any]:
        """Wait for a record."""
        try:
            found: dict[str, Any] = until(lambda: self.events(name, **fields), f"{name} {fields}", patience)[
                0
            ]
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log}") from None
        return found

    def signal(self, number: signal.Signals) -> None:
        """Send the parent a signal."""
        os.kill(self.pid, number)

    def ended(self, patience: float = PATIENCE) -> int:
        """Wait for the parent's end: its exit status."""
        assert self.process is not None
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end:\n{self.log}") from None

    def stop(self) -> int:
        """SIGTERM, and its exit status."""
        self.signal(signal.SIGTERM)
        return self.ended()

    @property
    def worker_pids(self) -> dict[int, int]:
        """The pid of each worker that started last, by slot."""
        return {record["worker"]: record["pid"] for record in self.events("worker.started")}

    @property
    def steward_pid(self) -> int:
        """The pid of the steward that started last."""
        return int(self.events("steward.started")[-1]["pid"])

    def sql(self, statement: str) -> str:
        """Run SQL with the system's own sqlite3: what it printed."""
        command = ["sqlite3", "-cmd", ".timeout 10000", str(self.database), statement]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def insert(self, queue: str, payload: str = "", delay: float = 0.0) -> str:
        """Add a job by plain SQL: its id."""
        quoted = payload.replace("'", "''")
        return self.sql(
            "INSERT INTO jobs (queue, payload, run_at) "
            f"VALUES ('{queue}', '{quoted}', (julianday('now') - 2440587.5) * 86400.0 + {delay}) RETURNING id"
        )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Another program holds the database's write lock for the length of the block."""
        holder = subprocess.Popen(
            ["sqlite3", "-cmd", ".timeout 10000", str(self.database)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert holder.stdin is not None
        assert holder.stdout is not None
        try:
            holder.stdin.write("BEGIN IMMEDIATE;\nSELECT 'locked';\n")
            holder.stdin.flush()
            assert holder.stdout.readline() == "locked\n"
            yield
        finally:
            holder.communicate("ROLLBACK;\n", PATIENCE)

    def sqlqd(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run another verb on the same configuration."""
        command = [*SQLQD, "-c", str(self.config), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
