"""The daemon's parent: it supervises and does nothing else. It never opens the database.

What it runs it is given; what it decides stands in `plan`, what it does to processes in `crew`.
"""

import errno
import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGTERM, SIGUSR1, Signals

from sqlqd import exits, log, proc, tree
from sqlqd.board import Cell
from sqlqd.clock import Clock
from sqlqd.parent import plan
from sqlqd.parent.crew import Crew, Exit
from sqlqd.parent.plan import End, Phase, Slot, Step
from sqlqd.presence import Presence
from sqlqd.seat import Child, ChildExit, Role
from sqlqd.systemd import Notices

_STEWARD = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Everything that a daemon is made of."""

    prepare: Callable[[], int]
    """Makes the database fit to be worked on, in a process of its own; its result is an exit status."""
    children: Mapping[Role, Child]
    workers: int
    database: Path
    limits: plan.Limits
    clock: Clock
    notices: Notices
    hangup_stops: bool
    """Whether SIGHUP means that our terminal is gone."""
    paused: bool = False


class Parent:
    """One daemon, from its start to its end."""

    def __init__(self, plot: Plot) -> None:
        self._plot = plot
        self._clock = plot.clock
        self._notices = plot.notices
        self._phase = Phase.STARTING
        self._status = exits.OK
        self._began = self._renewed = plot.clock.awake()
        self._end_by = math.inf
        """When the phase is to be over: drained, or everything killed."""
        self._preparing: tuple[int, int] | None = None
        self._presence: Presence | None = None
        self._wakeup = proc.Wakeup(proc.PARENT_SIGNALS)
        self._crew = Crew(plot.children, plot.workers)
        tree.become_subreaper()

    def run(self) -> int:
        """Supervise until the end; the daemon's exit status."""
        self._preparing = proc.fork(self._prepare)
        deadline = self.tick()
        while not self._over():
            proc.wait(self._descriptors(), deadline, self._clock)
            deadline = self.tick()
        if self._presence is not None:
            log.event("daemon.stopped")
        return self._status

    def tick(self) -> float:
        """Do all that is due, without waiting; when the next is due."""
        now = self._clock.awake()
        for number in self._wakeup.take():
            self._obey(number, now)
        if self._preparing is not None:
            self._look_at_preparation(*self._preparing, now)
        else:
            self._crew.look_around()
            for slot in self._occupied():
                self._watch(slot, now)
            self._enforce_end(now)
            self._fill(now)
        return min(self._report(now), self._next_limit())

    # Signals and phases.

    def _obey(self, number: Signals, now: float) -> None:
        step = plan.SIGNALS[self._phase][number]
        if step is Step.HANG_UP and self._plot.hangup_stops:
            step = Step.DRAIN
        if step is Step.DRAIN:
            self._drain(number.name, now)
        elif step is Step.END:
            self._drain(number.name, now)
            self._end(now)
        elif step is not Step.LOOK:
            log.event("signal.ignored", signal=number.name, reason=f"nothing to do while {self._phase.value}")

    def _drain(self, reason: str, now: float) -> None:
        if self._phase not in (Phase.STARTING, Phase.RUNNING):
            return
        self._phase = Phase.DRAINING
        self._end_by = now + self._plot.limits.drain
        # The workers first: while others are told, none of them begins another job.
        for slot in self._occupied(Role.WORKER):
            self._tell_to_leave(slot, now)
        if self._preparing is not None:
            proc.send(self._preparing[1], SIGTERM)
        self._notices.stopping()
        log.event("daemon.stopping", reason=reason)

    def _end(self, now: float) -> None:
        self._phase = Phase.KILLING
        self._end_by = now + plan.END_PATIENCE
        for slot in self._occupied(Role.WORKER):
            self._crew.tell(slot, SIGUSR1)

    def _enforce_end(self, now: float) -> None:
        if self._phase in (Phase.STARTING, Phase.RUNNING):
            return
        if now >= self._end_by:
            self._phase, self._end_by = Phase.KILLING, math.inf
            for slot in self._occupied(Role.WORKER):
                self._doom(slot, "the time to stop is over", now)
        steward = self._crew.slots[_STEWARD]
        if steward.pid and steward.told_at == math.inf and not self._work_remains():
            self._tell_to_leave(steward, now)

    def _fail(self, status: int, reason: str, now: float) -> None:
        """This daemon cannot work: end it with that status."""
        if self._status == exits.OK:
            self._status = status
            log.event("daemon.failed", reason=reason)
        self._drain(reason, now)

    def _over(self) -> bool:
        ending = self._phase in (Phase.DRAINING, Phase.KILLING)
        return ending and self._preparing is None and not self._occupied() and not self._work_remains()

    def _work_remains(self) -> bool:
        workers = self._crew.slots[_STEWARD + 1 :]
        return any(slot.pid or plan.wants_child(slot, self._phase) for slot in workers)

    # Children.

    def _prepare(self) -> int:
        self._forget()
        # It holds nothing: the default effect of a signal is right for it.
        proc.unblock()
        return self._plot.prepare()

    def _look_at_preparation(self, pid: int, pidfd: int, now: float) -> None:
        reaped, raw = os.waitpid(pid, os.WNOHANG)
        if not reaped:
            return
        os.close(pidfd)
        self._preparing = None
        status = os.waitstatus_to_exitcode(raw)
        if self._phase is not Phase.STARTING:
            return
        if status == exits.OK:
            self._announce(now)
            return
        # A positive status goes with a line that the child itself has written.
        if status < 0:
            log.event("daemon.failed", reason=f"preparing the database ended {_how(status)}")
        self._phase, self._status = Phase.KILLING, status if status > 0 else exits.FAILED

    def _announce(self, now: float) -> None:
        try:
            self._presence = Presence(self._plot.database)
            self._presence.announce(os.getpid())
            others = len(self._presence.living())
            if others:
                log.event("daemon.shared", count=others, database=str(self._plot.database))
        except OSError as error:
            denied = error.errno in (errno.EACCES, errno.EPERM)
            status = exits.DENIED if denied else exits.IO
            self._fail(status, f"cannot use the file of locks beside the database: {error}", now)

    def _occupied(self, role: Role | None = None) -> list[Slot]:
        return [slot for slot in self._crew.slots if slot.pid and role in (None, slot.role)]

    def _fill(self, now: float) -> None:
        for slot in self._crew.slots:
            if slot.pid or now < slot.not_before or not plan.wants_child(slot, self._phase):
                continue
            draining = self._phase is Phase.DRAINING
            try:
                self._crew.fill(slot, now, self._forget, paused=draining or self._plot.paused)
            except OSError as error:
                plan.vacate(slot, plan.Stamp(), in_order=True, now=now)
                self._failed_to_start(slot, f"no process to be had: {error}", now)
            else:
                if draining:
                    # It is told once it has ended its predecessor's lease.
                    slot.told_at = now + plan.ORPHANS_PATIENCE

    def _forget(self) -> None:
        """In a child: close what is the parent's alone."""
        self._wakeup.forget()
        self._notices.close()
        if self._presence is not None:
            self._presence.close()
        if self._preparing is not None:
            os.close(self._preparing[1])

    def _watch(self, slot: Slot, now: float) -> None:
        stamp = self._crew.stamp(slot)
        if stamp.started and now < slot.told_at < math.inf:
            self._tell_to_leave(slot, now)
        limit = plan.limit(slot, stamp)
        if now >= limit.at:
            self._doom(slot, limit.reason, now)
        ended = self._crew.step(slot, now)
        if ended is not None:
            self._bury(slot, ended, now)

    def _tell_to_leave(self, slot: Slot, now: float) -> None:
        slot.told_at = now
        self._crew.tell(slot, SIGTERM)

    def _doom(self, slot: Slot, reason: str, now: float) -> None:
        if not slot.doomed:
            slot.doomed = reason
            log.event(
                f"{slot.role.value}.stuck", worker=slot.index or None, worker_pid=slot.pid, reason=reason
            )
            self._crew.kill(slot, now)

    def _bury(self, slot: Slot, ended: Exit, now: float) -> None:
        for member in ended.remains:
            reason = f"{member.name} (pid {member.pid}), left by worker {slot.index}, ignores SIGKILL"
            log.event("tree.remains", worker=slot.index, reason=reason)
        stamp, pid, status, doomed = self._crew.stamp(slot), slot.pid, ended.status, slot.doomed
        end = plan.ending(slot, stamp, status, self._phase)
        plan.vacate(slot, stamp, in_order=status == ChildExit.IN_ORDER, now=now)
        match end:
            case End.CANNOT_START:
                self._failed_to_start(slot, "its own record says why", now, final=True)
            case End.NOT_STARTED:
                self._failed_to_start(slot, doomed or f"it ended {_how(status)}", now)
            case End.IN_ORDER:
                log.event(f"{slot.role.value}.exited", worker=slot.index or None, worker_pid=pid)
            case End.CRASHED:
                name = f"{slot.role.value}.crashed"
                log.event(name, worker=slot.index or None, worker_pid=pid, reason=_how(status))
            case End.KILLED:
                # It was said when it was done.
                pass

    def _failed_to_start(self, slot: Slot, reason: str, now: float, *, final: bool = False) -> None:
        if self._phase is Phase.STARTING and (final or slot.failures >= plan.STARTS_TRIED):
            self._fail(exits.FAILED, f"{slot.role.value} cannot start: {reason}", now)
        elif plan.is_worth_a_line(slot.failures):
            log.event(
                f"{slot.role.value}.cannot_start",
                worker=slot.index or None,
                reason=reason,
                failures=slot.failures,
                pause_seconds=round(slot.not_before - now, 1),
            )

    # Telling others, and waiting.

    def _report(self, now: float) -> float:
        """READY and STATUS; when to look at the stamps again."""
        slots, board = self._crew.slots, self._crew.board
        stamps = [self._crew.stamp(slot) for slot in slots]
        if self._phase is Phase.STARTING and plan.all_started(slots, stamps):
            self._phase = Phase.RUNNING
            self._notices.ready()
            log.event("daemon.ready", workers=self._plot.workers, database=str(self._plot.database))
        ready, dead = board.get(_STEWARD, Cell.READY), board.get(_STEWARD, Cell.DEAD)
        text = plan.status(self._phase, slots, stamps, ready=ready, dead=dead)
        changed = self._notices.status(text, now)
        self._renew_presence(now)
        awaited = any(slot.pid and not stamp.started for slot, stamp in zip(slots, stamps, strict=True))
        since = now - (
            self._began if self._phase is Phase.STARTING else max(slot.forked_at for slot in slots)
        )
        return now + plan.look_again(self._plot.limits, since if awaited else None, changed=changed)

    def _renew_presence(self, now: float) -> None:
        if self._presence is not None and now - self._renewed >= plan.LONGEST_LOOK:
            self._renewed = now
            # Where it cannot be had now, the next look tries again.
            with suppress(OSError):
                self._presence.renew()

    def _next_limit(self) -> float:
        crew, phase = self._crew, self._phase
        limits = (plan.limit(slot, crew.stamp(slot)).at for slot in self._occupied() if not slot.doomed)
        empty = (slot for slot in crew.slots if not slot.pid and plan.wants_child(slot, phase))
        starts = [] if self._preparing is not None else [slot.not_before for slot in empty]
        return min(crew.due, self._end_by, *limits, *starts)

    def _descriptors(self) -> list[int]:
        preparing = [self._preparing[1]] if self._preparing is not None else []
        return [self._wakeup.fd, *self._crew.pidfds, *preparing]


def _how(status: int) -> str:
    return f"by {Signals(-status).name}" if status < 0 else f"with exit status {status}"
