"""The producers under chaos: each adds jobs at random moments and notes every id that it was given.

A producer is `python -m tests.chaos.load WAY SEED HOME`, a process of its own for each way in, and may be
killed at any moment: an id counts once it is in the notes, which is after its job was acknowledged.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import FrameType

from tests.chaos import processes, stepped
from tests.chaos.ground import SOURCES, Ground
from tests.chaos.kinds import wished
from tests.chaos.processes import Process
from tests.chaos.ways import WAYS, Refused

_PAUSE = 0.15
"""Seconds, at most, between two additions."""

_AFTER_REFUSAL = 0.2
_PATIENCE = 30.0


class Producers:
    """One producer for each way in that there is; one that was killed is followed by another."""

    def __init__(self, ground: Ground, seed: str) -> None:
        """Nothing runs yet."""
        self._ground = ground
        self._seed = seed
        self._ways = [way for way in WAYS if way != "shell" or shutil.which("sqlite3")]
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._lives = 0

    @property
    def living(self) -> list[Process]:
        """Those that run."""
        found = (processes.find(process.pid) for process in self._running.values())
        return [one for one in found if one is not None]

    def look(self) -> list[str]:
        """Start those that are not there; what went wrong with others."""
        wrong = []
        for way in self._ways:
            status = self._running[way].poll() if way in self._running else -signal.SIGKILL
            if status not in (None, -signal.SIGKILL):
                wrong.append(f"producer {way} ended with exit status {status}")
            if status is not None:
                self._start(way)
        return wrong

    def _start(self, way: str) -> None:
        self._lives += 1
        words = [sys.executable, "-m", "tests.chaos.load", way, f"{self._seed}.{self._lives}"]
        self._running[way] = subprocess.Popen(
            [*words, str(self._ground.home)], env=self._ground.environ, cwd=SOURCES
        )

    def stop(self) -> list[str]:
        """Let each finish what it is adding; what went wrong."""
        for process in self._running.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        statuses = {way: process.wait(_PATIENCE) for way, process in self._running.items()}
        # A signal that finds an interpreter which is only just starting ends that.
        good = (0, -signal.SIGKILL, -signal.SIGTERM)
        bad = {way: status for way, status in statuses.items() if status not in good}
        return [f"producer {way} ended with exit status {status}" for way, status in bad.items()]

    def abandon(self) -> None:
        """Leave none behind, whatever went wrong."""
        for process in self._running.values():
            process.kill()
            process.wait()

    def acknowledged(self) -> dict[str, str]:
        """The kind of each job that somebody was given the id of."""
        return dict(line.split() for line in self._read("acknowledged"))

    def refusals(self) -> Counter[str]:
        """How often nothing was added, by reason."""
        return Counter(self._read("refused"))

    def _read(self, what: str) -> list[str]:
        files = (self._ground.home / f"{what}-{way}" for way in self._ways)
        return [line for file in files if file.exists() for line in file.read_text("ascii").splitlines()]


class Notes:
    """A file that grows by whole lines, whenever its writer is killed."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def add(self, line: str) -> None:
        """One line, in one write."""
        os.write(self._descriptor, f"{line}\n".encode("ascii"))


def main(name: str, seed: str, home: Path) -> None:
    """Add jobs until SIGTERM; an addition under way is finished and noted."""
    stopped = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGTERM, stop)
    ground, chance = Ground(home), random.Random(f"{seed} {name}")
    stepped.use(ground.clock)
    acknowledged, refused = Notes(home / f"acknowledged-{name}"), Notes(home / f"refused-{name}")
    way = None
    while not stopped:
        try:
            way = way or WAYS[name](ground, chance)
            wish = wished(chance)
            for job in way(wish):
                acknowledged.add(f"{job} {wish.kind}")
        except Refused as reason:
            refused.add(str(reason))
            time.sleep(_AFTER_REFUSAL)
        except BlockingIOError:
            # Whatever else runs on this machine has left no process to be had.
            refused.add("no-process")
            time.sleep(_AFTER_REFUSAL)
        time.sleep(chance.uniform(0.0, _PAUSE))
        while ground.hold.exists() and not stopped:
            time.sleep(0.05)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
