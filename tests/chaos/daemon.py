"""A daemon under chaos: started, killed, started again, stopped, and what it says of itself."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.chaos import processes
from tests.chaos.backlog import Tail
from tests.chaos.ground import SOURCES, Ground
from tests.chaos.kinds import configuration
from tests.chaos.processes import Process

PATIENCE = 30.0
"""Seconds that a start or a stop may take when nobody interferes."""

START_AGAIN = 0.2


class Daemon:
    """One daemon on the ground's database. Its owner calls `look` several times a second."""

    def __init__(self, ground: Ground, name: str, *, workers: int) -> None:
        """Write its configuration; nothing runs yet."""
        self.name = name
        self.wanted = False
        """Whether it is to be started again when it has ended."""
        self._ground = ground
        self._config = ground.home / f"{name}.toml"
        self._config.write_text(configuration(ground.database, ground.sometimes, workers), encoding="utf-8")
        self._log = Log(ground.home / f"{name}.log")
        self._process: subprocess.Popen[bytes] | None = None
        self._stop_by: float | None = None
        self._start_at = 0.0

    @property
    def config(self) -> Path:
        """Its configuration's path."""
        return self._config

    @property
    def running(self) -> bool:
        """Whether its parent lives."""
        return self._process is not None and self._process.poll() is None

    @property
    def stopping(self) -> bool:
        """Whether it has been asked to stop."""
        return self._stop_by is not None

    @property
    def parent(self) -> Process | None:
        """Its parent, while that lives."""
        return processes.find(self._process.pid) if self._process is not None and self.running else None

    @property
    def steward(self) -> Process | None:
        """Its steward, as far as that has said so."""
        return next((one for one in self.children if one.pid in self._log.stewards), None)

    @property
    def workers(self) -> list[Process]:
        """Its workers; while it starts, only those that have said that they work."""
        known, everyone = self._log.workers, self.children
        return [
            one for one in everyone if one.pid not in self._log.stewards and (self.ready or one.pid in known)
        ]

    @property
    def children(self) -> list[Process]:
        """Its workers and steward, and what prepares the database."""
        return processes.forks(self._process.pid) if self._process is not None and self.running else []

    @property
    def ready(self) -> bool:
        """Whether it has said that it is, since its last start."""
        self._log.read()
        return self._log.ready

    def start(self) -> None:
        """Start it, and keep it running from now on."""
        self.wanted, self._stop_by = True, None
        self._log.read()
        self._log.ready = False
        words = [sys.executable, "-m", "tests.chaos.stepped", "-c", str(self._config), "run"]
        with self._log.path.open("ab") as log:
            self._process = subprocess.Popen(
                words, env=self._ground.environ, cwd=SOURCES, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def crash(self) -> None:
        """Kill the parent."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._stop_by = None

    def stop(self, *, for_good: bool) -> None:
        """Ask it to stop; `look` sees to the rest."""
        self.wanted = not for_good
        if self.running and self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._stop_by = time.monotonic() + PATIENCE

    def forgive_stop(self) -> None:
        """It was interfered with: its stop may take any time."""
        if self._stop_by is not None:
            self._stop_by = float("inf")

    def look(self, excused: frozenset[int]) -> list[str]:
        """Start it where it has ended; what was wrong. `excused`: statuses with which it may have ended."""
        self._log.read()
        found = [f"daemon {self.name}: {mistake}" for mistake in self._log.mistakes]
        self._log.mistakes.clear()
        now = time.monotonic()
        if self.running:
            if self._stop_by is not None and now > self._stop_by:
                found.append(f"daemon {self.name} did not stop within {PATIENCE:.0f} seconds")
                self._stop_by = None
            return found
        if self._process is not None:
            status = self._process.wait()
            # A signal that finds an interpreter which is only just starting ends that.
            asked = {0, -signal.SIGTERM} if self._stop_by is not None else set()
            expected = excused | {-signal.SIGKILL} | asked
            if status not in expected:
                found.append(f"daemon {self.name} ended with exit status {status}")
            if status not in excused:
                found += [f"daemon {self.name}: it wrote {line!r}" for line in self._log.last_words]
            self._log.last_words.clear()
            self._process, self._stop_by = None, None
            self._start_at = now + START_AGAIN
        if self.wanted and now >= self._start_at:
            self.start()
        return found

    def abandon(self) -> None:
        """Leave none behind, whatever went wrong."""
        self.wanted = False
        self.crash()


class Log:
    """What a daemon writes, read as it grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.path.touch()
        self.ready = False
        self.stewards: set[int] = set()
        self.workers: set[int] = set()
        self.mistakes: list[str] = []
        """What it says about faults of its own."""
        self.last_words: list[bytes] = []
        """What it says, as any verb does, where it cannot start."""
        self._tail = Tail(path)

    def read(self) -> None:
        """Take in what is new."""
        for line in self._tail.lines():
            # Most lines are output of jobs.
            if b'"job.' not in line:
                self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            record: dict[str, Any] = json.loads(line)
        except ValueError:
            if line.startswith(b"sqlqd: "):
                self.last_words.append(line[:300])
                return
            self.mistakes.append(f"it wrote {line[:300]!r}")
            return
        match record["event"]:
            case "daemon.ready":
                self.ready = True
            case "steward.started":
                self.stewards.add(record["pid"])
            case "worker.started":
                self.workers.add(record["pid"])
            case "process.failed":
                self.mistakes.append(str(record["reason"]))
