"""One command's run, from its start to the end of its whole tree: the only module that starts programs.

A run never blocks: its owner waits on its descriptors and calls `step`. Its result is known when the
command has ended and everything that it left running is gone, not when its pipes close. The status is
taken from the command alone; `Popen.wait` is never called, nor any wait for just any child.
"""

import errno
import os
import select
import signal
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sqlqd import limits, log, tree
from sqlqd.account import Account, Identity, acting_as, for_commands
from sqlqd.cgroup import Domain, Refused, Usage
from sqlqd.clock import Clock
from sqlqd.command import envfile, launch
from sqlqd.command.confines import Confines
from sqlqd.command.control import Control, Malformed, RetryAfter, Word
from sqlqd.command.output import Line
from sqlqd.command.run import NotStarted, Run, ended_by_stop
from sqlqd.command.streams import Streams
from sqlqd.config import Queue
from sqlqd.model import Claim, Ended, Holder, Outcome, Progress

_REAPING_INTERVAL = 1.0
"""Seconds between looks for orphans that have ended while the command goes on: each holds a number."""

_HEEDING = 0.25
"""Seconds between looks at what the command says of itself."""

STRAYS_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL for what a command left running."""


@dataclass(frozen=True, slots=True)
class _Status:
    """How the command itself ended."""

    duration: float
    code: int | None = None
    signal: int | None = None
    dumped: bool = False


@dataclass(frozen=True, slots=True)
class _Terms:
    """What a command is started with."""

    words: list[bytes]
    env: dict[bytes, bytes]
    identity: Identity
    confines: Confines


class Programs:
    """Starts commands as the configuration has them."""

    def __init__(self, config: Path, holder: Holder, clock: Clock, cgroups: Domain | None = None) -> None:
        """`config`: the configuration's path, which commands are told; `cgroups`: where jobs get theirs."""
        self._config = config
        self._base = launch.inherited(os.environb)
        self._control = Control(holder.uid)
        self._cgroups = cgroups
        self._holder = holder
        self._clock = clock
        self._remains: frozenset[int] = frozenset()
        """Processes of earlier jobs that could not be ended: no part of later trees."""
        self._left: list[Confines] = []
        """The cgroups that such are in."""
        self._last: Command | None = None

    def start(self, claim: Claim, queue: Queue) -> Run:
        """Start the claim's command, or say in the run's outcome why it cannot be."""
        if self._last is not None:
            self._remains = tree.remaining(self._remains | self._last.remains)
            self._left = [one for one in (*self._left, self._last.confines) if not one.remove()]
        try:
            account = None if queue.user is None else for_commands(queue.user)
            with acting_as(account):
                refusal = launch.unfit(queue, claim) or launch.closed(queue) or launch.missing(queue)
            if refusal is not None:
                return NotStarted(refusal, self._clock.wall())
            self._last = self._started(claim, queue, account)
        except OSError as error:
            return NotStarted(launch.refused(error, queue, claim), self._clock.wall())
        except envfile.Unusable as error:
            refusal = launch.Refusal(Ended.NOT_STARTED, str(error), lasting=True)
            return NotStarted(refusal, self._clock.wall())
        except ValueError as error:
            # A path that the locale's encoding does not have.
            refusal = launch.Refusal(Ended.NOT_STARTED, f"cannot be started: {error}", lasting=True)
            return NotStarted(refusal, self._clock.wall())
        return self._last

    def _started(self, claim: Claim, queue: Queue, account: Account | None) -> "Command":
        config, uid, slot = self._config, self._holder.uid, self._holder.slot
        env = launch.environment(self._base, queue, claim, config=config, worker=uid, as_user=account)
        identity = Identity() if account is None else account.identity()
        confines = Confines(queue, self._cgroups, slot=slot, job_id=claim.job.id)
        path = self._control.begin(None if account is None else (account.uid, account.gid))
        if path is not None:
            env[b"SQLQD_CONTROL"] = os.fsencode(path)
        terms = _Terms(launch.arguments(queue, claim), env, identity, confines)
        return Command(
            claim, queue, terms, self._clock, worker=slot, spared=self._remains, control=self._control
        )

    def close(self) -> None:
        """Leave nothing behind."""
        self._control.close()


class Command:
    """A program that was started, with everything below it."""

    def __init__(
        self,
        claim: Claim,
        queue: Queue,
        terms: _Terms,
        clock: Clock,
        *,
        worker: int,
        spared: frozenset[int],
        control: Control,
    ) -> None:
        """Raises OSError where the system does not start it."""
        self.outcome: Outcome | None = None
        self.confines = terms.confines
        self._queue = queue
        self._spared = spared
        self._control = control
        self._retry_after: float | None = None
        self.progress: Progress | None = None
        """How far it is, by its own word."""
        self.remains: frozenset[int] = frozenset()
        """What could not be ended, once there is an outcome."""
        self._about = {
            "job_id": claim.job.id,
            "queue": queue.name,
            "attempt": claim.job.attempts,
            "worker": worker,
        }
        self._started_at = clock.wall()
        self._begun = clock.awake()
        self._timeout_at = self._begun + queue.timeout
        self._heed_at = self._begun + _HEEDING
        self._reap_at = self._begun + _REAPING_INTERVAL
        self._how: Ended | None = None
        self._status: _Status | None = None
        self._reaped = False
        self._ending: tree.Ending | None = None
        self._cpu: float | None = None
        self._streams = Streams(claim.job.payload.encode(), self._begun)
        try:
            self._process = self._spawned(terms)
            self._pidfd = self._watched()
        except BaseException:
            self._streams.close()
            self.confines.remove()
            raise

    @property
    def pid(self) -> int | None:
        """The command's process."""
        return self._process.pid

    def descriptors(self) -> Mapping[int, int]:
        """Its pipes, and its pidfd while its status is not known."""
        wanted = dict(self._streams.descriptors())
        if self._status is None:
            wanted[self._pidfd] = select.POLLIN
        return wanted

    def step(self, now: float) -> float:
        """Do what is due, without waiting; when more is due."""
        if self.outcome is not None:
            return now
        self._say(self._streams.step(now))
        if self._status is None:
            self._look(now)
        if now >= self._heed_at:
            self._heed_at = now + _HEEDING
            self._heed(self._control.words())
        if self._status is None and now >= self._reap_at:
            self._reap_at = now + _REAPING_INTERVAL
            tree.reap_all_but({self._process.pid, *self._spared})
        if self._status is None and self._how is None and now >= self._timeout_at:
            self._time_out(now)
        if self._gone(now):
            self._finish(now)
            return now
        return self._timeout_at if self._ending is None else self._ending.due

    def end(self, how: Ended, now: float, *, at_once: bool = False) -> None:
        """Begin to end it; the first reason stands, but that of a lost lease before all."""
        if how is Ended.LEASE_LOST or (self._status is None and self._how is None):
            self._how = how
        grace = 0.0 if at_once else self._queue.kill_grace
        if self._ending is None:
            self._begin_ending(now, grace)
        else:
            self._ending.hurry(now, grace=grace)

    def close(self) -> None:
        """Give up its descriptors."""
        self._streams.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    def _spawned(self, terms: _Terms) -> subprocess.Popen[bytes]:
        streams = self._streams
        try:
            with self.confines.entered():
                return subprocess.Popen(
                    terms.words,
                    stdin=streams.theirs[0],
                    stdout=streams.theirs[1],
                    stderr=streams.theirs[2],
                    cwd=self._queue.cwd,
                    env=terms.env,
                    start_new_session=True,
                    # Not through setpriv: as root it would obey an LD_PRELOAD that is meant for the command.
                    **terms.identity,
                    preexec_fn=self.confines.before_exec,  # noqa: PLW1509 - a worker has no threads
                )
        except subprocess.SubprocessError:
            raise Refused(errno.EPERM, "memory_max cannot be set: the system allows no setrlimit") from None
        finally:
            streams.started()

    def _watched(self) -> int:
        try:
            self.confines.enforce()
            return os.pidfd_open(self._process.pid)
        except OSError:
            # What cannot be limited or watched must not run; the number is ours until it is waited for.
            self._process.kill()
            if self.confines.leaf is not None:
                self.confines.leaf.kill()
            _, status = os.waitpid(self._process.pid, 0)
            self._process.returncode = os.waitstatus_to_exitcode(status)
            raise

    def _say(self, lines: Iterable[Line]) -> None:
        for line in lines:
            if self._queue.log_output:
                passed = line.passed_over or None
                log.event("job.output", **self._about, stream=line.stream, line=line.text, passed_over=passed)

    def _look(self, now: float) -> None:
        seen = os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if seen is None:
            return
        exited = seen.si_code == os.CLD_EXITED
        self._status = _Status(
            code=seen.si_status if exited else None,
            signal=None if exited else seen.si_status,
            dumped=seen.si_code == os.CLD_DUMPED,
            duration=now - self._begun,
        )
        if self._ending is not None:
            self._ending.hurry(now, grace=STRAYS_GRACE)

    def _heed(self, words: Iterable[Word]) -> None:
        for word in words:
            match word:
                case RetryAfter(seconds):
                    self._retry_after = seconds
                case Progress():
                    self.progress = word
                case Malformed(reason):
                    log.event("job.control_ignored", **self._about, reason=reason)

    def _time_out(self, now: float) -> None:
        self.end(Ended.TIMED_OUT, now)
        log.event("job.timeout", **self._about, pid=self.pid, reason=self._timeout_text())

    def _begin_ending(self, now: float, grace: float) -> None:
        leader = None if self._reaped else self._process.pid
        self._ending = tree.Ending(
            now, grace=grace, leader=leader, spared=self._spared, enclosure=self.confines.leaf
        )

    def _gone(self, now: float) -> bool:
        """Whether the command and all that it started are gone."""
        if self._ending is None:
            if self._status is None:
                return False
            if tree.alone(self._process.pid):
                self._reap()
                if tree.childless() and self.confines.is_empty():
                    return True
            self._begin_ending(now, min(self._queue.kill_grace, STRAYS_GRACE))
        ending = self._ending
        if ending is None or now < ending.due or not ending.step(now):
            return False
        if ending.remains:
            return True
        if self._status is None:
            self._look(now)
        if self._status is None:
            return False
        return self._reaped or self._confirmed(now)

    def _confirmed(self, now: float) -> bool:
        """Whether the kernel, too, knows of no child: what forks fast enough can be between two looks."""
        self._reap()
        if self._spared or tree.childless():
            return True
        self._begin_ending(now, 0.0)
        return False

    def _reap(self) -> None:
        """Take the zombie's status and times; from here on its number may be another's."""
        _, status, usage = os.wait4(self._process.pid, os.WNOHANG)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._cpu = usage.ru_utime + usage.ru_stime
        self._reaped = True

    def _finish(self, now: float) -> None:
        self._say(self._streams.drain(now))
        if self._ending is not None and self._ending.remains:
            self._give_up(self._ending.remains)
        if self._status is None:
            self._process.returncode = -1
        elif not self._reaped:
            self._reap()
        self._heed(self._control.words(last=True))
        self.close()
        usage = self.confines.usage()
        self.confines.remove()
        status = self._status or _Status(duration=now - self._begun)
        how = self._how or (Ended.SIGNALLED if status.code is None else Ended.EXITED)
        ended = Outcome(
            how=Ended.SIGNALLED if status.code is None else Ended.EXITED,
            started_at=self._started_at,
            duration=status.duration,
            code=status.code,
            signal=status.signal,
            detail=self._detail(how, status, usage),
            output=self._streams.tail(),
            cpu=self._cpu if usage.cpu is None else usage.cpu,
            memory_peak=usage.memory_peak,
            retry_after=self._retry_after,
        )
        # A command that was asked to stop and came to an end of its own has that end.
        own = how is Ended.INTERRUPTED and not ended_by_stop(ended)
        self.outcome = ended if own or how is ended.how else replace(ended, how=how)

    def _give_up(self, members: tuple[tree.Member, ...]) -> None:
        self.remains = frozenset(member.pid for member in members)
        names = ", ".join(f"{member.pid} ({member.name})" for member in members[:5])
        log.event(
            "tree.remains", **self._about, reason=f"SIGKILL did not end {len(members)} process(es): {names}"
        )

    def _detail(self, how: Ended, status: _Status, usage: Usage) -> str:
        match how:
            case Ended.TIMED_OUT:
                return self._timeout_text()
            case Ended.INTERRUPTED:
                return "the daemon stopped"
            case Ended.SIGNALLED if usage.killed_for_memory and status.signal == signal.SIGKILL:
                return limits.want_of_memory(self._queue, met_limit=usage.met_limit)
            case Ended.SIGNALLED if status.dumped:
                return "core dumped"
            case _:
                return ""

    def _timeout_text(self) -> str:
        return f"timeout after {self._queue.timeout:.15g} s"
