"""Several processes that log to one terminal, as a daemon's do."""

import os
import pty
import subprocess
import sys

LINES, PROCESSES = 400, 4

WRITER = f"""
import sys, time
from sqlqd.log.pipe import LogPipe
pipe = LogPipe(1)
for number in range({LINES}):
    pipe.write(f"{{sys.argv[1]}} {{number}} {{'x' * 60}}")
    if number % 10 == 0:
        time.sleep(0.002)
sys.exit(pipe.dropped > 0)
"""


def test_a_terminal_that_another_process_writes_to_takes_every_line() -> None:
    theirs, ours = pty.openpty()
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(number)], stdout=ours)
        for number in range(PROCESSES)
    ]
    os.close(ours)
    text = b""
    while data := _read(theirs):
        text += data
    os.close(theirs)
    assert [writer.wait(30) for writer in writers] == [0] * PROCESSES
    assert len(text.splitlines()) == LINES * PROCESSES


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 65_536)
    except OSError:
        # Nobody has the other end any more.
        return b""
