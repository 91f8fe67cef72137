"""The process that makes the database fit to be worked on, before anybody works on it."""

import os
from collections.abc import Callable
from signal import SIGKILL

from sqlqd import proc


class Preparation:
    """One run of it. Its owner waits for `pidfd`, then asks for its status."""

    def __init__(self, prepare: Callable[[], int], forget: Callable[[], None]) -> None:
        """`forget` closes what is the parent's alone. Raises OSError where no process is to be had."""

        def run() -> int:
            forget()
            # It holds nothing: the default effect of a signal is right for it.
            proc.unblock()
            return prepare()

        self._pid, self.pidfd = proc.fork(run)

    def ended(self) -> int | None:
        """Its exit status, or minus the signal that ended it, to be asked for once; None while it runs."""
        reaped, raw = os.waitpid(self._pid, os.WNOHANG)
        if not reaped:
            return None
        os.close(self.pidfd)
        return os.waitstatus_to_exitcode(raw)

    def kill(self) -> None:
        """End it, even where it is stopped: whatever it was about is undone by the database."""
        proc.send(self.pidfd, SIGKILL)
