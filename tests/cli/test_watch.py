"""`sqlqd status --watch` on a terminal, and colour where it is wanted."""

import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from sqlqd.model import NewJob
from tests.support.shell import SQLQD, Desk

ENTER, LEAVE, HOME = "\x1b[?1049h", "\x1b[?1049l", "\x1b[H"


class Screen:
    """What a terminal was sent."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.text = ""

    def until(self, pattern: str) -> str:
        """Read on until it has been sent; all that was sent from then on counts for the next."""
        end = time.monotonic() + 20
        while not (found := re.search(pattern, self.text, re.DOTALL)):
            assert time.monotonic() < end, self.text
            if select.select([self._fd], [], [], 0.5)[0]:
                self.text += os.read(self._fd, 65536).decode()
        sent, self.text = self.text[: found.end()], self.text[found.end() :]
        return sent


@contextmanager
def on_terminal(desk: Desk, *words: str, **env: str) -> Iterator[tuple["subprocess.Popen[bytes]", Screen]]:
    """A command whose output goes to a terminal."""
    reading, writing = pty.openpty()
    environment = {"TERM": "xterm", "LANG": "C.UTF-8", **env}
    plain = {name: value for name, value in desk.environment().items() if name != "NO_COLOR"}
    process = subprocess.Popen(
        [SQLQD, *words],
        env=plain | environment,
        stdout=writing,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        cwd=desk.directory,
    )
    os.close(writing)
    try:
        yield process, Screen(reading)
    finally:
        process.kill()
        process.communicate()
        os.close(reading)


def test_it_draws_in_place_and_gives_the_screen_back(desk: Desk) -> None:
    desk.enqueue("mail")
    with on_terminal(desk, "status", "--watch", "--interval", "0.2s") as (process, screen):
        first = screen.until(r"mail +1 .*\x1b\[J")
        assert first.startswith(ENTER)
        assert HOME in first
        with closing(desk.store()) as store:
            store.enqueue([NewJob("mail")])
        screen.until(r"mail +2 ")
        away = desk.database.rename(desk.directory / "away.db")
        screen.until("there is no database|does not exist|no database")
        away.rename(desk.database)
        screen.until(r"mail +2 ")
        process.send_signal(signal.SIGINT)
        last = screen.until(re.escape(LEAVE))
        assert "\x1b[?25h" in last
        assert process.wait(20) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--watch"], "a terminal"),
        (["--interval", "1s"], "goes with --watch"),
    ],
)
def test_it_is_for_terminals(desk: Desk, words: list[str], said: str) -> None:
    desk.enqueue("mail")
    result = desk.run("status", *words)
    assert (result.code, result.out) == (2, "")
    assert said in result.err


@pytest.mark.parametrize(
    ("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_is_where_it_is_wanted(desk: Desk, env: dict[str, str], *, coloured: bool) -> None:
    desk.enqueue("mail")
    with on_terminal(desk, "status", **env) as (process, screen):
        shown = screen.until(r"mail +1 [^\n]*\n")
        assert ("\x1b[" in shown) is coloured
        assert process.wait(20) == 0
    assert "\x1b[" not in desk.good("status").out
