"""Taking up a configuration that was changed: read, told to everybody who works by the old one, answered.

Whoever asks for it is answered always: with the new orders in force, with the old ones after a file that
cannot be used, and after a while in any case.
"""

import math
from collections.abc import Callable
from signal import SIGUSR2

from sqlqd import log
from sqlqd.clock import Clock
from sqlqd.parent import orders
from sqlqd.parent.crew import Crew
from sqlqd.parent.orders import Orders, Refused
from sqlqd.parent.report import Report, Sight
from sqlqd.systemd import Notices


class Reload:
    """All reloads of one daemon. Of several, the last file counts."""

    def __init__(
        self, read: Callable[[], Orders | Refused], crew: Crew, notices: Notices, report: Report, clock: Clock
    ) -> None:
        """`read` loads the configuration."""
        self.asked = False
        """Whether there is one to be done."""
        self.began = -math.inf
        """When new orders were taken up last, by the awake clock."""
        self._read = read
        self._crew = crew
        self._notices = notices
        self._report = report
        self._clock = clock

    @property
    def over_by(self) -> float:
        """When the one under way is said to be over, whoever has not started yet."""
        return self.began + orders.PATIENCE

    def begin(self, sight: Sight, *, under_way: bool) -> bool:
        """Read the file. True: new orders hold, and all who are there were told to leave at their job's end.

        False: all stays as it is, and whoever asked is still to be answered. `under_way`: the orders that
        hold are not in force yet.
        """
        self.asked = False
        self._notices.reloading(self._clock.awake())
        found, before = self._read(), self._crew.orders
        if isinstance(found, Orders):
            found = self._followed(found)
        if isinstance(found, Refused):
            self._report.trouble = found.brief
            log.event("daemon.reload_failed", reason=found.reason)
            self._report.tell(sight, self._clock.awake(), at_once=True)
            return False
        if under_way:
            log.event("daemon.reloaded", changes=f"{before.news}; and again before all had started")
        found.adopt()
        self._report.trouble = ""
        self.began = self._clock.awake()
        self._retire_all()
        return True

    def _followed(self, new: Orders) -> Orders | Refused:
        try:
            self._crew.follow(new)
        except OSError as error:
            reason = f"no pipes to be had for {new.workers} workers: {error.strerror}"
            return Refused(reason, reason)
        return new

    def _retire_all(self) -> None:
        for slot in self._crew.slots:
            if slot.pid:
                self._crew.tell(slot, SIGUSR2)
                # Read behind it: whoever began a turn before this may not have heard it then.
                slot.told_at = self._clock.awake()

    def is_over(self, sight: Sight, now: float) -> bool:
        """Whether the one under way is to be answered, and the log has been told how it ended."""
        complete = orders.in_force(sight.slots, sight.stamps, sight.generation)
        if not complete and now < self.over_by:
            return False
        news = self._crew.orders.news
        log.event("daemon.reloaded", changes=news if complete else f"{news}; not all have started yet")
        return True
