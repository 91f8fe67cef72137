"""Several processes that log to one terminal, as a daemon's do."""

import os
import pty
import subprocess
import sys

LINES, PROCESSES = 300, 4
"""So many that a terminal has room for all before anybody reads."""

WRITER = f"""
import sys
from sqlqd.log.pipe import LogPipe
pipe = LogPipe(1)
print(end=".", file=sys.stderr, flush=True)
sys.stdin.read()
for number in range({LINES}):
    pipe.write(f"{{sys.argv[1]}} {{number}}")
sys.exit(pipe.dropped > 0)
"""


def test_a_terminal_that_another_process_writes_to_takes_every_line() -> None:
    theirs, ours = pty.openpty()
    held, start = os.pipe()
    ready, tells = os.pipe()
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(number)], stdin=held, stdout=ours, stderr=tells)
        for number in range(PROCESSES)
    ]
    os.close(held)
    os.close(tells)
    assert b"".join(os.read(ready, 1) for _ in writers) == b"." * PROCESSES
    os.close(ready)
    os.close(start)
    assert [writer.wait(30) for writer in writers] == [0] * PROCESSES
    os.close(ours)
    text = b""
    while data := _read(theirs):
        text += data
    os.close(theirs)
    assert len(text.splitlines()) == LINES * PROCESSES


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 65_536)
    except OSError:
        # Nobody has the other end any more.
        return b""
