"""A daemon's place among all that live on one database: announced, and kept while the daemon lives."""

import os
from contextlib import suppress
from pathlib import Path

from sqlqd import log
from sqlqd.presence import Presence

_LOOKS = 5.0
"""Seconds between looks at the file of locks."""


class Place:
    """This process's place. It ends with the process, whatever ends it."""

    def __init__(self, database: Path, now: float, *, hangup_stops: bool) -> None:
        """Take it; says who else is there. Raises OSError where the file of locks cannot be used."""
        self._presence = Presence(database)
        self._presence.announce(os.getpid(), hangup_stops=hangup_stops)
        self._looked = now
        others = len(self._presence.living())
        if others:
            log.event("daemon.shared", count=others, database=str(database))

    def keep(self, now: float, *, stops: bool) -> None:
        """Take it again where the file was removed or replaced; `now` of the awake clock. `stops`: no more
        jobs are given out.
        """
        if stops:
            with suppress(OSError):
                self._presence.stop(os.getpid())
        if now - self._looked >= _LOOKS:
            self._looked = now
            # Where it cannot be had now, the next look tries again.
            with suppress(OSError):
                self._presence.renew()

    def forget(self) -> None:
        """In a child of a fork, which has no part in it."""
        self._presence.close()
