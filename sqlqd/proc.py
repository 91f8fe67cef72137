"""Processes from below: fork, signals, the wake-up pipe, waiting. The only module that forks.

A signal never does anything but wake a loop. From its fork until it has a `Wakeup` of its own a child
has every signal blocked, so that none is lost and none finds the parent's handlers.
"""

import math
import os
import select
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import NoReturn

from setproctitle import setproctitle

from sqlqd import log
from sqlqd.clock import Clock

CHILD_SIGNALS = frozenset(
    {signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}
)
"""What a child hears. It obeys SIGTERM, SIGUSR1 and SIGUSR2; the others, which a terminal sends to everybody,
it lets pass. They are caught and not ignored: an ignored signal would stay ignored in every command."""

PARENT_SIGNALS = CHILD_SIGNALS | {signal.SIGCHLD}

CHILD = "sqlqd-"
"""How the names of workers and stewards among the system's processes begin."""

_PARENT = "sqlqd: parent"
"""How the title of a daemon's parent begins."""

BUG = 70
"""Exit status of a child that ended by an exception (EX_SOFTWARE)."""

_LONGEST_WAIT = 3600.0
_SEND_AGAIN = 0.05
"""Seconds until the journal is offered again what it would not take."""
_LAST_OFFERS = 5
_BYTES_AT_ONCE = 4096


class Wakeup:
    """The end of a pipe that is readable once a signal has come. One a process, made in its main thread."""

    def __init__(self, signals: Iterable[signal.Signals] = CHILD_SIGNALS) -> None:
        """Catch these signals and unblock all."""
        self.fd, self._write_fd = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._signals = frozenset(signals)
        signal.set_wakeup_fd(self._write_fd, warn_on_full_buffer=False)
        for number in self._signals:
            signal.signal(number, _only_wake)
        unblock()

    def take(self) -> list[signal.Signals]:
        """The signals that came since the last call, in their order; never waits."""
        try:
            numbers = os.read(self.fd, _BYTES_AT_ONCE)
        except BlockingIOError:
            return []
        return [signal.Signals(number) for number in numbers if number in self._signals]

    def close(self) -> None:
        """Give up the pipe; the caught signals have their default effect again."""
        signal.set_wakeup_fd(-1)
        for number in self._signals:
            signal.signal(number, signal.SIG_DFL)
        self.forget()

    def forget(self) -> None:
        """In a child of a fork: close its copy of the pipe."""
        os.close(self.fd)
        os.close(self._write_fd)


def _only_wake(_number: int, _frame: object) -> None:
    """What remains to do once the interpreter has written the signal's number into the pipe."""


def unblock() -> None:
    """Let every signal through."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def reset_dispositions() -> frozenset[int]:
    """Give signals that whoever started us ignored their default effect again; the numbers of those.

    Ignored signals are inherited over exec: with SIGCHLD ignored every exit status reads as 0, and what
    `nohup` ignores would be ignored in every command. SIGPIPE and SIGXFSZ are the interpreter's own doing,
    and undone where a command is started. What was blocked, `Wakeup` lets through.
    """
    ours = {signal.SIGPIPE, signal.SIGXFSZ}
    ignored = frozenset(
        number
        for number in signal.valid_signals()
        if number not in ours and signal.getsignal(number) is signal.SIG_IGN
    )
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    return ignored


def fill_standard_descriptors() -> None:
    """Open /dev/null where 0, 1 or 2 are closed, or the next file opened would receive stray output."""
    while True:
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor > 2:  # noqa: PLR2004 - 0, 1 and 2 are the standard streams
            os.close(descriptor)
            return
        os.set_inheritable(descriptor, True)  # noqa: FBT003 - the call has no keywords


def fork(child: Callable[[], int]) -> tuple[int, int]:
    """Run `child` in a new process, whose exit status is what it returns. Its pid and a pidfd of it.

    The child begins with all signals blocked and their default effects; `Wakeup` or `unblock` opens it to
    them. Raises OSError where the system has no process to give, and RuntimeError while this process has
    an open database: a connection that lives across a fork corrupts the file.
    """
    apsw = sys.modules.get("apsw")
    if apsw is not None and apsw.connections():
        raise RuntimeError("cannot fork: this process has an open database")
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            _run_and_leave(child)
        return pid, _watched(pid)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _watched(pid: int) -> int:
    try:
        return os.pidfd_open(pid)
    except OSError:
        # No descriptor left: a child that cannot be watched must not run.
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


def _run_and_leave(child: Callable[[], int]) -> None:
    """Become the child. Never returns, so that nothing of the parent's stack is unwound in it."""
    status = BUG
    try:
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        log.forget()
        status = child()
    except BaseException:  # noqa: BLE001 - whatever it is, it must not reach the parent's frames
        with suppress(BaseException):
            sys.excepthook(*sys.exc_info())
    finally:
        leave(status)


def leave(status: int) -> NoReturn:
    """End this process with that status, whatever signals come meanwhile; nothing is unwound.

    An interpreter that ends as usual lets go of its handlers before it is gone. A journal that is busy gets a
    few moments more to take the last records.
    """
    for _ in range(_LAST_OFFERS):
        if log.flush():
            break
        select.poll().poll(math.ceil(_SEND_AGAIN * 1000))
    for stream in (sys.stdout, sys.stderr):
        with suppress(BaseException):
            stream.flush()
    os._exit(status)


def child_name(uid: str) -> str:
    """What a worker or steward is called among the system's processes: 15 characters, their limit."""
    return f"{CHILD}{uid[:9]}"


def call_myself(name: str, doing: str = "") -> None:
    """Change this process's name among the system's processes, and what `ps` and `systemctl status` show."""
    # The name is made of the title's first characters.
    setproctitle(f"{name} {doing}" if doing else name)


def call_myself_parent(doing: str) -> None:
    """The same for the daemon's parent, which keeps the program's name."""
    setproctitle(f"{_PARENT}{doing}")
    with suppress(OSError), open("/proc/self/comm", "w", encoding="utf-8") as comm:  # noqa: PTH123 - beside the other looks at /proc
        comm.write("sqlqd")


def is_parent(pid: int) -> bool:
    """Whether that process is the parent of some daemon of ours."""
    with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as words:  # noqa: PTH123 - beside the other looks at /proc
        return words.read(len(_PARENT)) == _PARENT.encode()
    return False


def send(pidfd: int, number: signal.Signals) -> None:
    """Send a signal to a process that may be gone already."""
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, number)


def wait(descriptors: Iterable[int], deadline: float, clock: Clock) -> frozenset[int]:
    """Wait until one of the descriptors is ready to be read, at its end or in error: those that are.

    Empty once `clock.awake()` has reached `deadline`, rounded up to a millisecond; at most an hour.
    """
    return wait_for(dict.fromkeys(descriptors, select.POLLIN), deadline, clock)


def wait_for(descriptors: Mapping[int, int], deadline: float, clock: Clock) -> frozenset[int]:
    """The same for other events of poll(), by descriptor. Meanwhile the journal is offered the rest."""
    poll = select.poll()
    for descriptor, events in descriptors.items():
        poll.register(descriptor, events)
    deadline = min(deadline, clock.awake() + _LONGEST_WAIT)
    while True:
        left = max(deadline - clock.awake(), 0.0)
        seconds = left if log.flush() else min(left, _SEND_AGAIN)
        ready = poll.poll(math.ceil(seconds * 1000))
        if ready or seconds == left:
            return frozenset(descriptor for descriptor, _ in ready)
