"""Talking to systemd: what is taken from its environment, and the notices that are sent to it."""

import math
import os
from collections.abc import MutableMapping

from sdnotify import SystemdNotifier

_SOCKET = "NOTIFY_SOCKET"
_BETWEEN = 1.0
"""Seconds between two texts of STATUS."""

_OURS = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES")


class Notices:
    """Where READY, STATUS and STOPPING go. Says nothing where nobody listens; never waits, never raises."""

    def __init__(self, notifier: SystemdNotifier | None) -> None:
        """`notifier` is connected, or None."""
        self._notifier = notifier
        self.heard = notifier is not None
        """Whether somebody listens."""
        self._said = ""
        self._said_at = -math.inf

    def ready(self) -> None:
        """The daemon works."""
        self._send("READY=1")

    def stopping(self) -> None:
        """The daemon ends."""
        self._send("STOPPING=1")

    def status(self, text: str, now: float) -> bool:
        """One line for people, at `now` of the awake clock; if it is news, at most once a second.

        Whether it was news; where it was and it is too soon, the caller tells it again.
        """
        if text == self._said:
            return False
        if now - self._said_at >= _BETWEEN:
            self._said, self._said_at = text, now
            self._send(f"STATUS={text}")
        return True

    def close(self) -> None:
        """Give up the socket: a child has no business with it."""
        if self._notifier is not None and self._notifier.socket is not None:
            self._notifier.socket.close()
        self._notifier = None

    def _send(self, text: str) -> None:
        if self._notifier is not None:
            # The notifier drops without a word what it cannot encode, READY with it.
            self._notifier.notify(text.encode("ascii", "replace").decode("ascii"))


def take(environ: MutableMapping[str, str] = os.environ) -> Notices:
    """Connect to whoever started us as a service; what is meant for us alone leaves the environment."""
    notifier = SystemdNotifier() if _SOCKET in environ else None
    if notifier is not None and notifier.socket is not None:
        notifier.socket.setblocking(False)  # noqa: FBT003 - the call has no keywords
    for name in _OURS:
        environ.pop(name, None)
    return Notices(notifier)
