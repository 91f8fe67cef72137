"""The daemon's parent: it supervises and does nothing else. It never opens the database.

What it runs it is given; what it decides stands in `phases`, `plan` and `orders`, what it does to processes
in `crew`, how it takes up a new configuration in `reload`, and what it says of itself in `report`.
"""

import errno
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from signal import SIGTERM, SIGUSR1, Signals

from sqlqd import exits, log, proc, tree
from sqlqd.board import Cell
from sqlqd.cgroup import Domain
from sqlqd.clock import Clock
from sqlqd.parent import orders, phases, plan
from sqlqd.parent.crew import Crew, Exit
from sqlqd.parent.orders import Orders, Refused
from sqlqd.parent.phases import Phase, Step
from sqlqd.parent.place import Place
from sqlqd.parent.plan import End, Filling, Slot
from sqlqd.parent.preparation import Preparation
from sqlqd.parent.reload import Reload
from sqlqd.parent.report import LONGEST_START, Report, Sight
from sqlqd.parent.succession import LOOKS, Succession
from sqlqd.seat import ChildExit, Role
from sqlqd.systemd import Notices

_STEWARD = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Everything that a daemon is made of."""

    prepare: Callable[[], int]
    """Makes the database fit to be worked on, in a process of its own; its result is an exit status."""
    orders: Orders
    reload: Callable[[], Orders | Refused]
    """Reads the configuration again. Quick, for nobody is supervised meanwhile; without the database."""
    database: Path
    clock: Clock
    notices: Notices
    hangup_stops: bool
    """Whether SIGHUP means that our terminal is gone."""
    cgroups: Domain | None = None
    """Where jobs get cgroups of their own."""


class Parent:
    """One daemon, from its start to its end."""

    def __init__(self, plot: Plot) -> None:
        self._plot = plot
        self._clock = plot.clock
        self._notices = plot.notices
        self._phase = Phase.STARTING
        self._status = exits.OK
        self._began = plot.clock.awake()
        self._end_by = math.inf
        """When the phase is to be over: new orders in force, drained, or everything killed."""
        self._more_time_until = self._began + LONGEST_START
        self._preparation: Preparation | None = None
        self._place: Place | None = None
        self._succession = Succession(plot.database)
        self._holds_back = False
        """Whether no worker is to begin yet: a file that was replaced is still worked on."""
        self._wakeup = proc.Wakeup(proc.PARENT_SIGNALS)
        self._crew = Crew(plot.orders, plot.cgroups)
        self._report = Report(plot.notices, self._began)
        self._reload = Reload(plot.reload, self._crew, plot.notices, self._report, plot.clock)
        tree.become_subreaper()

    def run(self) -> int:
        """Supervise until the end; the daemon's exit status."""
        self._preparation = Preparation(self._plot.prepare, self._forget)
        deadline = self.tick()
        while not self._over():
            proc.wait(self._descriptors(), deadline, self._clock)
            deadline = self.tick()
        if self._place is not None:
            log.event("daemon.stopped")
        return self._status

    def tick(self) -> float:
        """Do all that is due, without waiting; when the next is due."""
        now = self._clock.awake()
        for number in self._wakeup.take():
            self._obey(number, now)
        if self._preparation is not None:
            self._look_at_preparation(self._preparation, now)
        if self._preparation is None:
            # Also before the first is forked: by the next turn it may have ended and left something behind.
            self._crew.look_around()
            for slot in self._occupied():
                self._watch(slot, now)
        self._enforce_end(now)
        if self._preparation is None:
            if self._succession.begins(now):
                self._clear_out(now)
            self._holds_back = self._succession.is_awaited(self._crew.slots, now)
            self._fill(now)
        sight = self._advance(now)
        changed, due = self._report.tell(sight, now)
        if self._place is not None:
            self._place.keep(now, stops=not self._phase.works)
        return min(due, now + self._look_again(sight, now, changed=changed), self._next_limit())

    # Signals and phases.

    def _obey(self, number: Signals, now: float) -> None:
        match phases.asked(self._phase, number, hangup_stops=self._plot.hangup_stops):
            case Step.DRAIN:
                self._drain(number.name, now)
            case Step.END:
                self._drain(number.name, now)
                self._end(now)
            case Step.RELOAD:
                self._reload.asked = True
            case Step.NOTHING:
                reason = f"nothing to do while {self._phase.value}"
                log.event("signal.ignored", signal=number.name, reason=reason)
            case Step.LOOK:
                pass

    def _drain(self, reason: str, now: float) -> None:
        if not self._phase.works:
            return
        self._phase = Phase.DRAINING
        workers = self._occupied(Role.WORKER)
        limits = orders.together([self._crew.orders.limits, *(slot.limits for slot in workers)])
        self._end_by = now + limits.drain
        self._more_time_until = self._end_by + plan.END_PATIENCE
        # The workers first: while others are told, none of them begins another job.
        for slot in workers:
            self._tell(slot, SIGTERM, now)
        if self._preparation is not None:
            self._preparation.kill()
        self._notices.stopping()
        log.event("daemon.stopping", reason=reason)

    def _end(self, now: float) -> None:
        self._phase = Phase.KILLING
        self._end_by = now + plan.END_PATIENCE
        self._more_time_until = self._end_by + plan.END_PATIENCE
        for slot in self._occupied(Role.WORKER):
            self._crew.tell(slot, SIGUSR1)

    def _enforce_end(self, now: float) -> None:
        if self._phase.works:
            return
        if now >= self._end_by:
            self._phase, self._end_by = Phase.KILLING, math.inf
            for slot in self._occupied(Role.WORKER):
                self._doom(slot, "the time to stop is over", now)
        steward = self._crew.slots[_STEWARD]
        if steward.pid and steward.told_at == math.inf and not self._work_remains():
            self._tell(steward, SIGTERM, now)

    def _fail(self, status: int, reason: str, now: float) -> None:
        """This daemon cannot work: end it with that status."""
        if self._status == exits.OK:
            self._status = status
            log.event("daemon.failed", reason=reason)
        self._drain(reason, now)

    def _over(self) -> bool:
        ended = self._preparation is None and not self._occupied() and not self._work_remains()
        return ended and not self._phase.works

    def _work_remains(self) -> bool:
        workers = self._crew.slots[_STEWARD + 1 :]
        return any(slot.pid or self._filling(slot, room=0) is not Filling.NOBODY for slot in workers)

    def _advance(self, now: float) -> Sight:
        """Go on to the next phase where this one has reached its aim. What there is to be seen then."""
        sight = self._sight()
        if self._phase is Phase.STARTING and plan.all_started(sight.slots, sight.stamps):
            self._phase = Phase.RUNNING
            self._notices.ready()
            log.event("daemon.ready", workers=self._crew.orders.workers, database=str(self._plot.database))
        elif self._phase is Phase.RELOADING and self._reload.is_over(sight, now):
            self._phase, self._end_by = Phase.RUNNING, math.inf
            self._notices.ready()
        if self._reload.asked and self._phase in (Phase.RUNNING, Phase.RELOADING):
            if self._reload.begin(self._sight(), under_way=self._phase is Phase.RELOADING):
                self._phase, self._end_by = Phase.RELOADING, self._reload.over_by
            elif self._phase is Phase.RUNNING:
                self._notices.ready()
        return self._sight()

    # Children.

    def _look_at_preparation(self, preparation: Preparation, now: float) -> None:
        status = preparation.ended()
        if status is None:
            return
        self._preparation = None
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
            self._place = Place(self._plot.database, now, hangup_stops=self._plot.hangup_stops)
        except OSError as error:
            denied = error.errno in (errno.EACCES, errno.EPERM)
            status = exits.DENIED if denied else exits.IO
            self._fail(status, f"cannot use the file of locks beside the database: {error}", now)

    def _occupied(self, role: Role | None = None) -> list[Slot]:
        return [slot for slot in self._crew.slots if slot.pid and role in (None, slot.role)]

    def _clear_out(self, now: float) -> None:
        """Another database is there: all end what they had of the old one before anybody begins with it."""
        log.event("database.replaced", reason=str(self._plot.database))
        for slot in self._occupied(Role.WORKER):
            slot.leave_by = now + plan.END_PATIENCE
            self._tell(slot, SIGUSR1, now)

    def _filling(self, slot: Slot, *, room: int) -> Filling:
        if slot.role is Role.WORKER and self._holds_back:
            return Filling.NOBODY
        return plan.filling(slot, self._phase, room=room > 0)

    def _fill(self, now: float) -> None:
        room = plan.room(self._crew.slots)
        for slot in self._crew.slots:
            wanted = Filling.NOBODY if slot.pid or now < slot.not_before else self._filling(slot, room=room)
            if wanted is Filling.NOBODY:
                continue
            heir = wanted is Filling.HEIR
            try:
                self._crew.fill(slot, now, self._forget, paused=heir, file=self._succession.file)
            except OSError as error:
                plan.vacate(slot, plan.Stamp(), in_order=True, now=now)
                self._failed_to_start(slot, f"no process to be had: {error}", now)
                continue
            room -= slot.role is Role.WORKER
            if heir:
                # It is told once it has ended its predecessor's lease.
                slot.told_at = now + (plan.START_PATIENCE if self._phase.works else plan.ORPHANS_PATIENCE)

    def _forget(self) -> None:
        """In a child: close what is the parent's alone."""
        self._wakeup.forget()
        self._notices.close()
        if self._place is not None:
            self._place.forget()

    def _watch(self, slot: Slot, now: float) -> None:
        stamp = self._crew.stamp(slot)
        if stamp.started and now < slot.told_at < math.inf:
            self._tell(slot, SIGTERM, now)
        limit = plan.limit(slot, stamp)
        if now >= limit.at:
            self._doom(slot, limit.reason, now)
        ended = self._crew.step(slot, now)
        if ended is not None:
            self._bury(slot, ended, now)

    def _tell(self, slot: Slot, number: Signals, now: float) -> None:
        """Tell a child to leave."""
        slot.told_at = now
        self._crew.tell(slot, number)

    def _doom(self, slot: Slot, reason: str, now: float) -> None:
        if not slot.doomed:
            slot.doomed, slot.doomed_at = reason, now
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
        # Or the steward would go on waking nobody.
        self._crew.board.clear(slot.index)
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

    # Looking, and waiting.

    def _sight(self) -> Sight:
        crew, board = self._crew, self._crew.board
        at_work = self._phase in (Phase.RUNNING, Phase.RELOADING)
        return Sight(
            phase=self._phase,
            generation=crew.generation,
            slots=crew.slots,
            stamps=[crew.stamp(slot) for slot in crew.slots],
            preparing=self._preparation is not None,
            ready=board.get(_STEWARD, Cell.READY),
            dead=board.get(_STEWARD, Cell.DEAD),
            more_time_until=-math.inf if at_work else self._more_time_until,
        )

    def _look_again(self, sight: Sight, now: float, *, changed: bool) -> float:
        """Seconds until the next look at the stamps."""
        slots = self._crew.slots
        limits = orders.together([self._crew.orders.limits, *(slot.limits for slot in slots if slot.pid)])
        awaited = self._phase is Phase.RELOADING or any(
            slot.pid and not stamp.started for slot, stamp in zip(slots, sight.stamps, strict=True)
        )
        since = max(slot.forked_at for slot in slots)
        if self._phase is Phase.STARTING:
            since = self._began
        elif self._phase is Phase.RELOADING:
            since = self._reload.began
        return plan.look_again(limits, now - since if awaited else None, changed=changed)

    def _next_limit(self) -> float:
        crew = self._crew
        limits = (plan.limit(slot, crew.stamp(slot)).at for slot in self._occupied() if not slot.doomed)
        room = plan.room(crew.slots)
        empty = (slot for slot in crew.slots if not slot.pid)
        to_fill = [slot for slot in empty if self._filling(slot, room=room) is not Filling.NOBODY]
        starts = [] if self._preparation is not None else [slot.not_before for slot in to_fill]
        looks = self._clock.awake() + LOOKS if self._holds_back else math.inf
        return min(crew.due, self._end_by, looks, *limits, *starts)

    def _descriptors(self) -> list[int]:
        preparing = [self._preparation.pidfd] if self._preparation is not None else []
        return [self._wakeup.fd, *self._crew.pidfds, *preparing]


def _how(status: int) -> str:
    return f"by {Signals(-status).name}" if status < 0 else f"with exit status {status}"
