"""What is done to a run: every kind of harm, how often it is chosen, and what it does.

A harm that lasts ends by itself: its end is put on the agenda. Everything is drawn from one seed.
"""

import heapq
import itertools
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from signal import SIGCONT, SIGKILL, SIGSTOP

from tests.chaos import processes
from tests.chaos.daemon import Daemon
from tests.chaos.ground import Ground
from tests.chaos.load import Producers
from tests.chaos.processes import Process
from tests.chaos.verdict import Kill

HOUR = 3600.0
FULL, LOCKED = 74, 75
"""Exit statuses of a daemon that could not start because of a full disk, or a lock."""

EXCUSED_FOR = 15.0
"""Seconds after a full disk, or anything that may have held a lock, that a start may still fail for it."""


class Agenda:
    """What is to be done later."""

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def add(self, seconds: float, act: Callable[[], None]) -> None:
        """Do it in so many seconds."""
        heapq.heappush(self._entries, (time.monotonic() + seconds, next(self._numbers), act))

    def work(self, *, all_of_it: bool = False) -> None:
        """Do what is due."""
        while self._entries and (all_of_it or self._entries[0][0] <= time.monotonic()):
            heapq.heappop(self._entries)[2]()


@dataclass(slots=True)
class Harms:
    """The one who harms."""

    ground: Ground
    daemons: Sequence[Daemon]
    """The first always runs, the second for part of the time."""
    producers: Producers
    chance: random.Random
    kills: list[Kill] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    furthest: float = 0.0
    """The wall clock's largest offset."""
    _agenda: Agenda = field(default_factory=Agenda)
    _until: dict[int, float] = field(default_factory=dict)
    """By exit status: until when it is excused."""

    def one(self) -> None:
        """Do one harm of those that can be done now."""
        name = self.chance.choices(list(HARMS), [weight for weight, _ in HARMS.values()])[0]
        done = HARMS[name][1](self)
        if done:
            self.done[name] += 1
            self._note(name)

    def look(self) -> None:
        """End what has lasted long enough."""
        self._agenda.work()

    def end(self) -> None:
        """End all that lasts, and let every job's time have come."""
        self._agenda.work(all_of_it=True)
        self.ground.step_clock(self.furthest + 600.0)

    def excused(self) -> frozenset[int]:
        """Statuses with which a daemon may have ended by itself."""
        now = time.monotonic()
        return frozenset(status for status, until in self._until.items() if now <= until)

    def _note(self, what: str) -> None:
        """For whoever has to find out how it came to a violation."""
        with (self.ground.home / "harms").open("a", encoding="ascii") as file:
            file.write(f"{time.monotonic():.3f} {what}\n")

    def _excuse(self, status: int, seconds: float) -> None:
        until = time.monotonic() + seconds + EXCUSED_FOR
        self._until[status] = max(until, self._until.get(status, 0.0))

    def _daemon(self) -> Daemon | None:
        running = [daemon for daemon in self.daemons if daemon.running]
        return self.chance.choice(running) if running else None

    def _worker(self) -> tuple[Daemon, Process] | None:
        """Mostly one at work: to harm one that waits proves little."""
        daemon = self._daemon()
        workers = daemon.workers if daemon is not None else []
        busy = [one for one in workers if processes.children(one.pid)]
        among = busy if busy and self.chance.random() < 0.7 else workers
        return (daemon, self.chance.choice(among)) if daemon is not None and among else None

    def _kill(self, process: Process | None, role: str) -> bool:
        if process is None or not process.signal(SIGKILL):
            return False
        self.kills.append(Kill(process.pid, role, time.monotonic()))
        self._note(f"killed {process.pid}, {role}")
        return True

    def _stop(self, targets: Sequence[Process], longest: float, *, forgotten: float = 0.0) -> bool:
        """Stop them; some are never continued."""
        stopped = [one for one in targets if one.signal(SIGSTOP)]
        if not stopped:
            return False
        self._note(f"stopped {[one.pid for one in stopped]}")
        # It may have been stopped with the write lock.
        self._excuse(LOCKED, 70.0)
        if self.chance.random() >= forgotten:
            seconds = self.chance.uniform(0.05, longest)
            self._agenda.add(seconds, lambda: _continue(stopped))
        return True

    # Deaths.

    def kill_worker(self) -> bool:
        """A worker, most likely with a command that runs."""
        found = self._worker()
        return found is not None and self._kill(found[1], "worker")

    def kill_steward(self) -> bool:
        """The steward."""
        daemon = self._daemon()
        return daemon is not None and self._kill(daemon.steward, "steward")

    def kill_parent(self) -> bool:
        """The parent; it is started again at once."""
        daemon = self._daemon()
        return daemon is not None and self._kill(daemon.parent, "parent")

    def kill_producer(self) -> bool:
        """Somebody who is adding a job."""
        living = self.producers.living
        return bool(living) and self._kill(self.chance.choice(living), "producer")

    def kill_command(self) -> bool:
        """A job's own process: nobody's fault but a failed attempt."""
        found = self._worker()
        commands = processes.children(found[1].pid) if found is not None else []
        return bool(commands) and self._kill(self.chance.choice(commands), "command")

    def kill_daemon(self) -> bool:
        """Parent, workers and steward; their commands run on."""
        daemon = self._daemon()
        if daemon is None:
            return False
        killed = [self._kill(one, "with all its daemon") for one in (daemon.parent, *daemon.children)]
        return any(killed)

    def kill_all(self) -> bool:
        """Everything, as when the power goes: nobody has the file open any more."""
        for _ in range(3):
            for one in processes.marked(self.ground.mark):
                one.signal(SIGKILL)
        self.kills.append(Kill(0, "everything", time.monotonic()))
        return True

    # Standstills.

    def stop_worker(self) -> bool:
        """A worker alone; its command runs on."""
        found = self._worker()
        return found is not None and self._stop([found[1]], 6.0, forgotten=0.5)

    def stop_worker_and_command(self) -> bool:
        """A worker with its command."""
        found = self._worker()
        return found is not None and self._stop(
            [found[1], *processes.children(found[1].pid)], 6.0, forgotten=0.5
        )

    def stop_steward(self) -> bool:
        """The steward."""
        daemon = self._daemon()
        steward = daemon.steward if daemon is not None else None
        return steward is not None and self._stop([steward], 6.0, forgotten=0.2)

    def stop_parent(self) -> bool:
        """The parent; later it is continued, or killed as it stands."""
        daemon = self._daemon()
        parent = daemon.parent if daemon is not None else None
        if daemon is None or parent is None or not self._stop([parent], 6.0, forgotten=0.3):
            return False
        daemon.forgive_stop()
        self._agenda.add(7.0, lambda: _kill_if_stopped(parent))
        return True

    def stop_daemon(self) -> bool:
        """A whole daemon, commands and all, for longer than its leases; half of the time it dies of it."""
        daemon = self._daemon()
        parent = daemon.parent if daemon is not None else None
        if daemon is None or parent is None:
            return False
        workers = daemon.children
        below = [command for worker in workers for command in processes.children(worker.pid)]
        daemon.forgive_stop()
        stopped = self._stop([parent, *workers, *below], 6.0, forgotten=0.5)
        self._agenda.add(7.0, lambda: _kill_if_stopped(parent))
        return stopped

    def stop_producer(self) -> bool:
        """Somebody who is adding a job, perhaps with the write lock."""
        living = self.producers.living
        return bool(living) and self._stop([self.chance.choice(living)], 4.0)

    # Orders.

    def restart(self) -> bool:
        """SIGTERM under load, and a new start."""
        daemon = self._daemon()
        if daemon is None or daemon.stopping:
            return False
        daemon.stop(for_good=False)
        return True

    def second_daemon(self) -> bool:
        """A second daemon on the same file comes or goes."""
        second = self.daemons[1]
        if not second.wanted:
            second.wanted = True
        elif not second.stopping:
            second.stop(for_good=True)
        return True

    # The world.

    def lock(self) -> bool:
        """Somebody has the database for himself, at times for longer than the shortest lease."""
        connection = sqlite3.connect(self.ground.database, timeout=0.3, isolation_level=None)
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            connection.close()
            return False
        seconds = self.chance.choice((0.5, 1.5, 5.0)) * self.chance.random()
        self._excuse(LOCKED, seconds)

        def let_go() -> None:
            with suppress(sqlite3.OperationalError):
                connection.execute("COMMIT")
            connection.close()

        self._agenda.add(seconds, let_go)
        return True

    def fill(self) -> bool:
        """The disk is full for a while."""
        if not self.ground.is_small:
            return False
        seconds = self.chance.uniform(0.2, 4.0)
        self._excuse(FULL, seconds)
        self.ground.fill_disk()
        self._agenda.add(seconds, self.ground.empty_disk)
        return True

    def step_clock(self) -> bool:
        """The wall clock steps, often back to the truth."""
        offset = 0.0 if self.chance.random() < 0.4 else self.chance.uniform(-HOUR, HOUR)
        self.furthest = max(self.furthest, offset)
        self.ground.step_clock(offset)
        if offset < 0:
            # Jobs that come in by the true clock would wait for as long.
            self._agenda.add(self.chance.uniform(0.5, 4.0), lambda: self.ground.step_clock(0.0))
        return True

    def hide_command(self) -> bool:
        """A queue's program is missing for a while."""
        self.ground.hide_command()
        self._agenda.add(self.chance.uniform(0.1, 2.0), self.ground.show_command)
        return True


def _continue(stopped: Sequence[Process]) -> None:
    for one in stopped:
        one.signal(SIGCONT)


def _kill_if_stopped(parent: Process) -> None:
    now = processes.find(parent.pid)
    if now is not None and now.born == parent.born and now.state == "T":
        parent.signal(SIGKILL)


HARMS: dict[str, tuple[int, Callable[[Harms], bool]]] = {
    "kill worker": (30, Harms.kill_worker),
    "kill steward": (5, Harms.kill_steward),
    "kill parent": (6, Harms.kill_parent),
    "kill producer": (8, Harms.kill_producer),
    "kill command": (4, Harms.kill_command),
    "kill daemon": (2, Harms.kill_daemon),
    "kill everything": (2, Harms.kill_all),
    "stop worker": (6, Harms.stop_worker),
    "stop worker and command": (3, Harms.stop_worker_and_command),
    "stop steward": (2, Harms.stop_steward),
    "stop parent": (2, Harms.stop_parent),
    "stop daemon": (1, Harms.stop_daemon),
    "stop producer": (2, Harms.stop_producer),
    "restart": (3, Harms.restart),
    "second daemon": (3, Harms.second_daemon),
    "lock": (5, Harms.lock),
    "fill disk": (2, Harms.fill),
    "step clock": (5, Harms.step_clock),
    "hide command": (3, Harms.hide_command),
}
"""How often each is chosen, and what does it; false where it could not be done."""
