"""Stretches of work that no signal breaks off: what is committed is also counted and told."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def held() -> Iterator[None]:
    """From here to the end of the process no signal stops it: the exit status, too, tells what is on disk."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    yield


@contextmanager
def unbroken() -> Iterator[None]:
    """What stops the process waits until the block is over."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def interrupt_alike() -> None:
    """Let all that stops the process come as Ctrl-C does, so that it can say how far it came."""
    for number in _STOPS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
