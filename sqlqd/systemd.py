"""Talking to systemd: what is taken from its environment, and the notices that are sent to it."""

import math
import os
import re
from collections import deque
from collections.abc import MutableMapping

from sdnotify import SystemdNotifier

_SOCKET = "NOTIFY_SOCKET"
_BETWEEN = 1.0
"""Seconds between two texts of STATUS, and between two requests for more time."""

_EXTENSION = 5.0
"""Seconds that are asked for each time: several of the next requests may come late on a busy machine."""

_PINGS = 3.0
"""Pings of the watchdog in the time that it waits for one."""

_KEPT = 16
"""Messages that are kept for a listener who does not read; the newest count."""

_OURS = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES")


class Notices:
    """Where READY, STATUS and the others go. Says nothing where nobody listens; never waits, never raises.

    Moments are seconds of the awake clock, which is the one that systemd means as well.
    """

    def __init__(self, notifier: SystemdNotifier | None, *, watchdog: float = math.inf) -> None:
        """`notifier` is connected, or None. `watchdog`: seconds within which a sign of life is awaited."""
        self._notifier = notifier
        self.heard = notifier is not None
        """Whether somebody listens."""
        self._unsent: deque[str] = deque(maxlen=_KEPT)
        """What must not be lost and could not be sent yet."""
        self._said = ""
        self._said_at = -math.inf
        self._extended_at = -math.inf
        self._ping_every = watchdog / _PINGS if self.heard else math.inf
        self._pinged_at = -math.inf

    def ready(self) -> None:
        """The daemon works; after `reloading`: by its new configuration, or goes on by the old one."""
        self._keep("READY=1")

    def reloading(self, now: float) -> None:
        """A reload begins. Whoever asked for it waits until `ready`."""
        self._keep(f"RELOADING=1\nMONOTONIC_USEC={now * 1e6:.0f}")

    def stopping(self) -> None:
        """The daemon ends."""
        self._keep("STOPPING=1")

    def status(self, text: str, now: float, *, at_once: bool = False) -> bool:
        """One line for people; if it is news, at most once a second, or at once.

        Whether it was news; where it was and could not be said yet, the caller tells it again. Also sends
        what was kept because nobody took it.
        """
        taken = self._flush()
        if text == self._said:
            return not taken
        if at_once or now - self._said_at >= _BETWEEN:
            self._said_at = now
            if self._send(f"STATUS={text}"):
                self._said = text
        return True

    def extend(self, now: float) -> float:
        """A start or a stop needs more time; when that is to be said again."""
        if not self.heard:
            return math.inf
        if now >= self._extended_at + _BETWEEN:
            self._extended_at = now
            self._send(f"EXTEND_TIMEOUT_USEC={_EXTENSION * 1e6:.0f}")
        return self._extended_at + _BETWEEN

    def alive(self, now: float) -> float:
        """The daemon makes progress; when that is to be said again, where a watchdog asks for it."""
        if self._ping_every == math.inf:
            return math.inf
        if now >= self._pinged_at + self._ping_every:
            self._pinged_at = now
            self._send("WATCHDOG=1")
        return self._pinged_at + self._ping_every

    def close(self) -> None:
        """Give up the socket: a child has no business with it."""
        if self._notifier is not None and self._notifier.socket is not None:
            self._notifier.socket.close()
        self._notifier = None

    def _keep(self, text: str) -> None:
        self._unsent.append(text)
        self._flush()

    def _flush(self) -> bool:
        """Send what was kept, in its order. Whether nothing is left."""
        while self._unsent and self._sent(self._unsent[0]):
            self._unsent.popleft()
        return not self._unsent

    def _send(self, text: str) -> bool:
        """Whether it was sent, or is not to be: nothing passes by what was kept."""
        return self._flush() and self._sent(text)

    def _sent(self, text: str) -> bool:
        if self._notifier is None:
            return True
        try:
            # The notifier knows Latin-1 alone.
            self._notifier.notify(text.encode("ascii", "replace").decode("ascii"))
        except BlockingIOError:
            # Many messages wait to be read there.
            return False
        except OSError:
            # Nobody listens any more: there is no use in keeping it.
            return True
        return True


def take(environ: MutableMapping[str, str] = os.environ) -> Notices:
    """Connect to whoever started us as a service; what is meant for us alone leaves the environment."""
    notifier = SystemdNotifier() if _SOCKET in environ else None
    if notifier is not None and notifier.socket is not None:
        notifier.socket.setblocking(False)  # noqa: FBT003 - the call has no keywords
        # Or it would drop what cannot be sent without a word, READY too.
        notifier.debug = True
    watchdog = _watchdog(environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", ""))
    for name in _OURS:
        environ.pop(name, None)
    return Notices(notifier, watchdog=watchdog)


def _watchdog(usec: str, pid: str) -> float:
    """Seconds that the watchdog waits for a sign of life; infinity where it is not for this process."""
    if not re.fullmatch("[0-9]{1,18}", usec) or pid not in ("", str(os.getpid())):
        return math.inf
    return int(usec) / 1e6 or math.inf
