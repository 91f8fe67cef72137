"""Commands that run in name only: they end when the simulation says so, or when they are ended."""

from collections.abc import Callable, Mapping

from sqlqd.clock import Clock
from sqlqd.command.launch import Refusal
from sqlqd.command.run import NotStarted, Run
from sqlqd.config import Queue
from sqlqd.model import Claim, Ended, Outcome, Progress
from tests.sim.ledger import Ledger, hold

STUBBORN = '"stubborn"'
"""The payload of a job whose command heeds nothing but SIGKILL."""


class Execution:
    """One run of a command, alive from its start until it ends or is killed with all that it started."""

    pid: int | None = 1

    def __init__(self, claim: Claim, queue: Queue, clock: Clock, ledger: Ledger) -> None:
        self.claim = claim
        self.queue = queue
        self.alive = True
        self.frozen = False
        """It exists and cannot do anything."""
        self.outcome: Outcome | None = None
        self.progress: Progress | None = None
        self._clock = clock
        self._ledger = ledger
        self._began = clock.awake()
        self._started_at = clock.wall()
        self._how = Ended.EXITED
        self._code: int | None = None
        self._signal: int | None = None
        self._asked = False
        self._kill_at = float("inf")

    @property
    def acts(self) -> bool:
        """Whether it could do anything at this moment."""
        return self.alive and not self.frozen

    @property
    def is_last(self) -> bool:
        """Whether its job has no attempt left."""
        return self.claim.attempts >= self.claim.max_attempts

    # What the worker does with it.

    def descriptors(self) -> Mapping[int, int]:
        """None that could be waited for."""
        return {}

    def step(self, now: float) -> float:
        """Do what is due; when more is."""
        if self.outcome is not None:
            return now
        if self.alive and not self._asked and now >= self._began + self.queue.timeout:
            self.end(Ended.TIMED_OUT, now)
        if self.alive and now >= self._kill_at:
            self.alive = False
        if not self.alive:
            self.outcome = Outcome(
                self._how, self._started_at, now - self._began, code=self._code, signal=self._signal
            )
            return now
        return self._kill_at if self._asked else self._began + self.queue.timeout

    def end(self, how: Ended, now: float, *, at_once: bool = False) -> None:
        """TERM, its grace, KILL; only stubborn ones need more than the first."""
        if how is Ended.LEASE_LOST:
            hold(self.claim.token not in self._ledger.given_up, f"{self.claim.id} was given up twice")
            self._ledger.given_up.add(self.claim.token)
        if how is Ended.LEASE_LOST or (self.alive and not self._asked):
            self._how, self._code, self._signal = how, None, None
            if how is Ended.INTERRUPTED:
                self._ledger.interrupted.add(self.claim.token)
        self._asked = True
        if at_once or self.claim.payload != STUBBORN:
            self.alive = False
        self._kill_at = min(self._kill_at, now + self.queue.kill_grace)

    def close(self) -> None:
        """Nothing is open."""

    # What the simulation does with it.

    def finish(self, code: int | None = None, signal: int | None = None) -> None:
        """It ends by itself."""
        if self.alive:
            self.alive = False
            if self._asked:
                return
            self._code, self._signal = code, signal
            self._how = Ended.SIGNALLED if signal is not None else Ended.EXITED
            if code == 0:
                self._ledger.succeeded.add(self.claim.token)

    def kill(self) -> None:
        """It is ended by somebody else than its worker, who will never know."""
        self.alive = False


class Theatre:
    """All executions of the machine, and the promises about them."""

    def __init__(self, clock: Clock, ledger: Ledger) -> None:
        self._clock = clock
        self._ledger = ledger
        self.executions: list[Execution] = []
        self.refusals: dict[str, Refusal] = {}
        """Why a queue's command cannot be started, by queue."""

    def start(self, claim: Claim, queue: Queue) -> Execution:
        """Begin one; fails where that breaks a promise."""
        self.executions = [one for one in self.executions if one.alive]
        job = self._ledger.jobs[claim.id]
        hold(job.token == claim.token, f"{job.id} is run by one who no longer has it")
        self.executions.append(Execution(claim, queue, self._clock, self._ledger))
        self.check()
        return self.executions[-1]

    def check(self) -> None:
        """No two executions of one job, and no more of a queue than it may have."""
        acting = [one for one in self.executions if one.acts]
        ids = [one.claim.id for one in acting]
        for one in acting:
            hold(ids.count(one.claim.id) == 1, f"two executions of {one.claim.id} at once")
            most = one.queue.concurrency
            running = sum(other.queue.name == one.queue.name for other in acting)
            hold(most is None or running <= most, f"{running} jobs of {one.queue.name} run, not {most}")


class Stage:
    """Starts one worker's commands."""

    def __init__(self, theatre: Theatre, started: Callable[[Execution], None]) -> None:
        self._theatre = theatre
        self._started = started

    def start(self, claim: Claim, queue: Queue) -> Run:
        """Start the claim's command, unless there is a refusal for its queue."""
        refusal = self._theatre.refusals.get(queue.name)
        if refusal is not None:
            return NotStarted(refusal, claim.claimed_at)
        execution = self._theatre.start(claim, queue)
        self._started(execution)
        return execution
