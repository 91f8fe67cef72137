"""Walks through a document's shell blocks in real terminals, and sets what they print beside what it shows.

A ```sh block is typed as it stands and prints nothing. A ```console block holds commands behind `$ ` and what
they print. One marked ```console daemon is a second terminal's, where the last command keeps running: its
lines are waited for, in any order within the block, and `^C` stands for that key.
"""

import os
import pty
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

PATIENCE = 20.0
_BLOCK = re.compile(r"^```(sh|console daemon|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_END = "\x1e"

# What differs between two runs of the same tour, and the word that takes its place.
_VARIES = [
    (re.compile(r"\b[0-9a-f]{32}\b"), "<id>"),
    (re.compile(r"\b([0-9a-f]{12}|[0-9a-f]{8})\b"), "<short id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?\S*"), "<time>"),
    (re.compile(r"\b\d\d:\d\d(:\d\d)?\b"), "<time>"),
    (re.compile(r"\b\d+(\.\d+)? ?(us|ms|s|min|h|d)\b( \d+(us|ms|s|min|h|d)\b)*"), "<duration>"),
    (re.compile(r"\bnow\b|\bin <duration>|<duration> ago"), "<when>"),
    (re.compile(r"\b(pid +|worker_pid=|worker[= ]|duration_seconds=|cpu_seconds=)[\d.]+"), r"\1<number>"),
    (re.compile(r"^( +\d+ +)\d+( +idle)$", re.MULTILINE), r"\1<pid>\2"),
    (re.compile(r"^(user +).*", re.MULTILINE), r"\1<user>"),
    (re.compile(r"\b\d+\.\d+\.\d+\b"), "<version>"),
    (re.compile(r"[ \t]+"), " "),
]


@dataclass(frozen=True, slots=True)
class Step:
    """One command and what it prints; without a command, more of what the running one prints."""

    terminal: str
    command: str | None
    shown: tuple[str, ...]


def steps(text: str) -> Iterator[Step]:
    """The steps of all blocks of a text, in order."""
    for kind, body in _BLOCK.findall(text):
        if kind == "sh":
            yield Step("console", body, ())
            continue
        command: str | None = None
        shown: list[str] = []
        for line in body.splitlines():
            if line.startswith("$ ") or line == "^C":
                if command is not None or shown:
                    yield Step(kind, command, tuple(shown))
                command, shown = line.removeprefix("$ "), []
            else:
                shown.append(line)
        yield Step(kind, command, tuple(shown))


def plain(lines: tuple[str, ...] | list[str], home: str) -> list[str]:
    """The lines without what differs between two runs."""
    text = "\n".join(lines).replace(home, "/home/ada")
    for pattern, word in _VARIES:
        text = pattern.sub(word, text)
    return [line.rstrip() for line in text.rstrip().splitlines()]


class Terminal:
    """A shell whose output goes to a terminal of its own."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        """Start the shell in a folder."""
        self._reading, writing = pty.openpty()
        self._script = Path(environ["HOME"]) / f".typed-{self._reading}"
        self._shell = subprocess.Popen(
            ["/bin/bash", "--norc", "--noprofile"],
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.PIPE,
            stdout=writing,
            stderr=writing,
            start_new_session=True,
        )
        os.close(writing)
        self._held = ""

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the shell and what runs in it."""
        if self._shell.poll() is None:
            self.press(signal.SIGTERM)
            self.press(signal.SIGCONT)
            try:
                self._shell.communicate(timeout=10.0)
            except subprocess.TimeoutExpired:
                self.press(signal.SIGKILL)
                self._shell.communicate()
        os.close(self._reading)

    def type(self, command: str) -> None:
        """Type a command, as if at the prompt: what it reads is not what is typed next."""
        self._script.write_text(command, encoding="utf-8")
        line = f". '{self._script}' </dev/null; printf '\\036'\n"
        assert self._shell.stdin is not None
        self._shell.stdin.write(line.encode())
        self._shell.stdin.flush()

    def press(self, number: int) -> None:
        """What a key does: a signal to all that runs in the terminal."""
        os.killpg(self._shell.pid, number)

    def until_done(self) -> list[str]:
        """The lines of the command that was typed, once it has ended."""
        self._read_until(lambda: _END in self._held)
        told, _, self._held = self._held.partition(_END)
        return told.splitlines()

    def until_lines(self, count: int) -> list[str]:
        """The next lines of what is running; fewer, where it says no more."""
        self._read_until(lambda: self._held.count("\n") >= count)
        lines = self._held.splitlines()
        self._held = "".join(f"{line}\n" for line in lines[count:])
        return lines[:count]

    def _read_until(self, enough: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        with selectors.DefaultSelector() as selector:
            selector.register(self._reading, selectors.EVENT_READ)
            while not enough() and (left := end - time.monotonic()) > 0:
                if selector.select(left):
                    told = os.read(self._reading, 65536).decode()
                    self._held += _COLOUR.sub("", told.replace("\r\n", "\n"))


def walk(text: str, folder: Path, environ: Mapping[str, str]) -> Iterator[tuple[Step, list[str]]]:
    """Each step of a text, and what was really printed; both terminals begin in a folder."""
    with Terminal(folder, environ) as console, Terminal(folder, environ) as daemon:
        for step in steps(text):
            terminal = daemon if step.terminal == "console daemon" else console
            if step.command == "^C":
                terminal.press(signal.SIGINT)
            elif step.command is not None:
                terminal.type(step.command)
            running = terminal is daemon and step.shown
            yield step, terminal.until_lines(len(step.shown)) if running else terminal.until_done()
