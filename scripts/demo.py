"""The demo: a real daemon, real jobs, and a check that each ended as it should. Started by ./scripts/demo."""

import argparse
import gzip
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from io import TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MOST_FILES = 60
MOST_BYTES = 4 << 20
LONGEST_NAME = 240
PATIENCE = 50.0
"""Seconds that all of the work may take."""

REPORTS = ("alice@example.org", "bob@example.org")
REMINDERS = ("nobody@example.org",)


class DemoFailed(Exception):
    """Something did not end as it should."""


def say(text: str) -> None:
    """One line of the demo's own, told apart from the daemon's."""
    print(f"\n## {text}", flush=True)


def wait_for(condition: Callable[[], bool], seconds: float, otherwise: str) -> None:
    """Look ten times a second until it is so."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise DemoFailed(otherwise)
        time.sleep(0.1)


def eligible(entry: Path) -> bool:
    """Whether to compress it: a plain readable file, not huge, whose results' names are free and fit."""
    return (
        not entry.is_symlink()
        and entry.is_file()
        and os.access(entry, os.R_OK)
        and entry.stat().st_size <= MOST_BYTES
        and len(os.fsencode(entry.name)) <= LONGEST_NAME
        and not any(Path(f"{entry}{end}").is_dir() for end in (".gz", ".sha256"))
    )


def files(folder: Path) -> Iterator[str]:
    """Names of a folder's files, relative to it; hidden folders and caches are left alone."""
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__")))
        for name in sorted(names):
            entry = Path(where, name)
            if eligible(entry):
                yield str(entry.relative_to(folder))


class Queue:
    """A daemon of the demo's own in a fresh folder, and the command line that talks to it."""

    def __init__(self, home: Path, folder: Path) -> None:
        """Lay out the folder; nothing runs yet."""
        self.results = home / "results"
        self.results.mkdir()
        config = home / "sqlqd.toml"
        shutil.copy(ROOT / "config" / "demo.toml", config)
        self._environ = {**os.environ, "SQLQD_CONFIG": str(config), "DEMO_FOLDER": str(folder)}
        self._daemon: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the daemon; its log goes where the demo's own words go."""
        self._daemon = subprocess.Popen(["sqlqd", "run"], env=self._environ, stdin=subprocess.DEVNULL)
        wait_for(self._running, 10.0, "the daemon did not start")

    def stop(self) -> None:
        """Stop the daemon as a service manager would; it has to leave in order."""
        daemon, self._daemon = self._daemon, None
        if daemon is None:
            return
        daemon.terminate()
        try:
            code = daemon.wait(20.0)
        except subprocess.TimeoutExpired:
            daemon.kill()
            raise DemoFailed("the daemon did not stop within 20 seconds") from None
        if code != 0:
            raise DemoFailed(f"the daemon ended with exit status {code}")

    def run(self, *words: str, given: str | None = None) -> str:
        """What a sqlqd command prints."""
        done = subprocess.run(
            ["sqlqd", *words], env=self._environ, input=given, stdout=subprocess.PIPE, text=True, check=False
        )
        if done.returncode != 0:
            raise DemoFailed(f"`sqlqd {' '.join(words)}` ended with exit status {done.returncode}")
        return done.stdout

    def enqueue(self, queue: str, payloads: Sequence[str]) -> None:
        """Add jobs, one a line, and say so."""
        say(f"sqlqd enqueue {queue} --lines: {len(payloads)} jobs")
        self.run("enqueue", queue, "--lines", given="".join(f"{payload}\n" for payload in payloads))

    def ended(self, state: str) -> list[dict[str, Any]]:
        """The jobs that are done, or dead."""
        return [json.loads(line) for line in self.run("list", "--state", state, "--json").splitlines()]

    def idle(self) -> bool:
        """Whether nothing is left to do."""
        self._look()
        queues = json.loads(self.run("status", "--json"))["queues"]
        return all(queue["ready"] + queue["scheduled"] + queue["running"] == 0 for queue in queues)

    def _running(self) -> bool:
        """Whether the daemon says so; before it has made its database, `status` cannot."""
        self._look()
        words = ["sqlqd", "status", "--json"]
        asked = subprocess.run(words, env=self._environ, capture_output=True, text=True, check=False)
        return asked.returncode == 0 and json.loads(asked.stdout)["daemon"]["running"] is True

    def _look(self) -> None:
        if self._daemon is None or self._daemon.poll() is not None:
            raise DemoFailed("the daemon has ended by itself")


def check(queue: Queue, names: Sequence[str]) -> None:
    """Raise DemoFailed unless every job ended as the configuration means it to, with the right result."""
    done = Counter(job["queue"] for job in queue.ended("done") if job["outcome"] == "done")
    expected = {"compress": len(names), "checksum": len(names), "send-report": len(REPORTS)}
    if done != expected:
        raise DemoFailed(f"done: {dict(done)}, but expected {expected}")
    if any(job["attempts"] != 2 for job in queue.ended("done") if job["queue"] == "send-report"):
        raise DemoFailed("a report was not sent at its second attempt")
    if [job["queue"] for job in queue.ended("dead")] != ["remind"] * len(REMINDERS):
        raise DemoFailed("the dead jobs are not the reminders")
    for name in names:
        content = gzip.decompress((queue.results / f"{name}.gz").read_bytes())
        if (queue.results / f"{name}.sha256").read_text() != f"{sha256(content).hexdigest()}\n":
            raise DemoFailed(f"the checksum of {name} is wrong")


def work(queue: Queue, names: Sequence[str]) -> None:
    """Enqueue, wait until all has ended, show what became of it."""
    queue.enqueue("send-report", REPORTS)
    queue.enqueue("remind", REMINDERS)
    queue.enqueue("compress", [json.dumps(name) for name in names])
    wait_for(queue.idle, PATIENCE, f"the work was not done within {PATIENCE:.0f} seconds")
    for words in (["status"], ["list", "--state", "dead"]):
        say(f"sqlqd {' '.join(words)}")
        print(queue.run(*words), end="", flush=True)


def demonstrate(home: Path, folder: Path, names: Sequence[str]) -> Path:
    """The whole demo; the folder of its results. Raises DemoFailed."""
    queue = Queue(home, folder)
    say(f"sqlqd run, with {ROOT / 'config' / 'demo.toml'}")
    try:
        queue.start()
        work(queue, names)
        say("SIGTERM: the daemon stops")
    finally:
        queue.stop()
    check(queue, names)
    return queue.results


def interrupted(number: int, _frame: FrameType | None) -> None:
    """Leave by an exception, so that the daemon is stopped first."""
    sys.exit(128 + number)


def main() -> None:
    """Run the demo on the folder named, or on this repository."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    parser = argparse.ArgumentParser(prog="./scripts/demo", description="Shows sqlqd at work.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT, help="whose files to compress")
    folder = parser.parse_args().folder.absolute()
    if not folder.is_dir():
        parser.error(f"{folder} is not a folder")
    names = list(itertools.islice(files(folder), MOST_FILES))
    if not names:
        parser.error(f"{folder} has no file to compress: none that is plain, readable and below 4 MiB")
    home = Path(tempfile.mkdtemp(prefix="sqlqd-demo."))
    try:
        results = demonstrate(home, folder, names)
    except DemoFailed as error:
        sys.exit(f"The demo failed: {error}. What it left is in {home}")
    say(f"All ended as it should. The results are in {results} (yours to delete)")


if __name__ == "__main__":
    main()
