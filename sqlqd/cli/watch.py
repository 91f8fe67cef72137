"""Drawing the same thing anew on a terminal, until Ctrl-C.

Signals wait until it is idle: so nothing is cut short, and the screen is given back whole.
"""

import os
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress

from sqlqd import exits
from sqlqd.cli.colour import RED, Paint, wanted
from sqlqd.cli.failure import explained
from sqlqd.cli.output import Output
from sqlqd.clock import SystemClock
from sqlqd.config import ConfigError
from sqlqd.moments import local
from sqlqd.printable import printable
from sqlqd.store.base import StoreError

_STANDARD_OUTPUT = 1

_ENTER = "\x1b[?1049h\x1b[?7l\x1b[?25l"
_LEAVE = "\x1b[?25h\x1b[?7h\x1b[?1049l"
"""The other screen, without a cursor and where long lines are cut; and back."""
_HOME, _REST_OF_LINE, _REST_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"

_ENDS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
_HEARD = _ENDS | {signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH}
_ROWS = 24

Frame = Callable[[Paint], Iterable[str]]


def watch(frame: Frame, every: float) -> int:
    """Draw `frame` again every so many seconds; a database or configuration that fails for a while is told
    in its place. Raises OSError where the terminal is gone.
    """
    paint = Paint(wanted=wanted(_STANDARD_OUTPUT, os.environ))
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    with Output() as output:
        _write(output, _ENTER)
        try:
            while True:
                _draw(output, _rows(frame, paint, every))
                heard = signal.sigtimedwait(_HEARD, every)
                if heard is not None and heard.si_signo in _ENDS:
                    return exits.OK
                if heard is not None and heard.si_signo == signal.SIGTSTP:
                    _write(output, _LEAVE)
                    os.kill(os.getpid(), signal.SIGSTOP)
                    _write(output, _ENTER)
        finally:
            # A terminal that is gone needs nothing.
            with suppress(OSError):
                _write(output, _LEAVE)


def _rows(frame: Frame, paint: Paint, every: float) -> list[str]:
    head = f"{local(SystemClock().wall())}  every {every:g}s, Ctrl-C ends"
    try:
        return [head, "", *frame(paint)]
    except (ConfigError, StoreError, OSError) as error:
        return [head, "", *(paint(printable(line), RED) for line in explained(error)[1])]


def _draw(output: Output, rows: list[str]) -> None:
    height = _height()
    if len(rows) > height:
        rows = [*rows[: height - 1], f"… {len(rows) - height + 1} more lines"]
    shown = f"{_REST_OF_LINE}\r\n".join(rows)
    _write(output, f"{_HOME}{shown}{_REST_OF_LINE}{_REST_OF_SCREEN}")


def _height() -> int:
    with suppress(OSError):
        return max(2, os.get_terminal_size(_STANDARD_OUTPUT).lines or _ROWS)
    return _ROWS


def _write(output: Output, text: str) -> None:
    output.text(text)
    output.flush()
