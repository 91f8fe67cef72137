"""Commands that a test ends as it likes, for the real worker under an owned clock."""

from collections.abc import Mapping

from sqlqd.clock import Clock
from sqlqd.config import Queue
from sqlqd.model import Claim, Ended, Outcome, Progress


class FakedRun:
    """A run that lasts until the test ends it, or its owner does: at once, or by SIGKILL alone if `deaf`."""

    def __init__(
        self, claim: Claim, clock: Clock, *, outcome: Outcome | None = None, deaf: bool = False
    ) -> None:
        self.claim = claim
        self.outcome = outcome
        self.pid: int | None = 4711
        self.progress: Progress | None = None
        self.asked: list[tuple[Ended, bool]] = []
        self.closed = False
        self._clock = clock
        self._begun = clock.awake()
        self._started_at = clock.wall()
        self._deaf = deaf
        self._how: Ended | None = None

    def descriptors(self) -> Mapping[int, int]:
        """None: nothing is waited for."""
        return {}

    def step(self, now: float) -> float:
        """Notice what was asked for."""
        if self._how is not None and self.outcome is None:
            self.finish(self._how)
        return now + 3600.0

    def end(self, how: Ended, now: float, *, at_once: bool = False) -> None:
        """Note the wish."""
        self.asked.append((how, at_once))
        if at_once or not self._deaf:
            self._how = how

    def close(self) -> None:
        """Note it."""
        self.closed = True

    def finish(self, how: Ended = Ended.EXITED, code: int | None = 0) -> None:
        """It has ended."""
        self.outcome = Outcome(how, self._started_at, self._clock.awake() - self._begun, code)


class FakedCommands:
    """Starts faked runs and keeps them in their order."""

    def __init__(self, clock: Clock) -> None:
        self.runs: list[FakedRun] = []
        self.deaf = False
        self.refuses: Outcome | None = None
        self._clock = clock

    def start(self, claim: Claim, queue: Queue) -> FakedRun:
        """A run, over from the start where `refuses` is set."""
        run = FakedRun(claim, self._clock, outcome=self.refuses, deaf=self.deaf)
        self.runs.append(run)
        return run
