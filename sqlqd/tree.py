"""Ending every process below this one: a job's whole tree, with what left its session or forked twice.

A process that is a subreaper inherits whatever its descendants leave behind, so nothing below it can get
out of sight. Nothing here blocks: an ending is a series of steps between which the caller's loop goes on.
A status is only ever taken from the process of a number that this module has found to be a stray; taking
any (`waitpid(-1)`) would steal that of a command, and a stolen status reads as a success.
"""

import ctypes
import errno
import os
import signal
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

_PR_SET_CHILD_SUBREAPER = 36

GIVE_UP = 10.0
"""Seconds for which one and the same process outlives SIGKILL (it sleeps uninterruptibly, or is another
user's) until it is left and named."""

_FIRST_PAUSE = 0.001
_LONGEST_PAUSE = 0.1
_ROUNDS = 1000
"""Looks at our own children in one step, at most: each takes some microseconds."""

_BYTES_AT_ONCE = 65536


@dataclass(frozen=True, slots=True)
class Member:
    """One process below this one."""

    pid: int
    parent: int
    group: int
    zombie: bool
    stopped: bool
    born: int
    """Start time in ticks of the kernel: with the pid it tells a process from a later one."""
    name: str


class Enclosure(Protocol):
    """What a tree was started in, and cannot get out of: a cgroup, or several."""

    def pids(self) -> list[int]:
        """What runs in it; no zombies."""
        ...

    def kill(self) -> None:
        """SIGKILL to all that is in it, at one stroke, where the kernel knows how."""
        ...


def become_subreaper() -> None:
    """Let orphans below this process become its children. Not inherited: each process asks for itself."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def below(spared: Collection[int] = ()) -> list[Member]:
    """Every process below this one, zombies too, without the spared ones and what is below those.

    When it finds nothing there is nothing: a child of ours cannot vanish while we look, since only we
    reap it, and whatever is deeper hangs below one. A zombie found is not nothing: it may have forked
    after the listing was read and died before its own line was.
    """
    return descendants(processes(), [os.getpid()], spared)


def processes() -> list[Member]:
    """Every process that can be seen, zombies too. Raises OSError where there is nothing to look with."""
    entries = os.listdir("/proc")  # noqa: PTH208 - a Path for each of hundreds of processes is slow
    looked_at = (process(int(entry)) for entry in entries if entry.isdigit())
    return [found for found in looked_at if found is not None]


def descendants(among: Iterable[Member], roots: Iterable[int], spared: Collection[int] = ()) -> list[Member]:
    """What is below the roots, without the spared ones and what is below those."""
    children: dict[int, list[Member]] = {}
    for one in among:
        children.setdefault(one.parent, []).append(one)
    found: list[Member] = []
    fresh = list(roots)
    while fresh:
        grown = [m for m in children.pop(fresh.pop(), []) if m.pid not in spared]
        found.extend(grown)
        fresh.extend(m.pid for m in grown)
    return found


def children() -> set[int]:
    """The children of this process, zombies too, by one cheap look that may overlook some.

    Raises OSError where there is nothing to look with: no descriptor left, or a kernel without that file.
    """
    fd = os.open("/proc/thread-self/children", os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = b""
        while part := os.read(fd, _BYTES_AT_ONCE):
            text += part
    finally:
        os.close(fd)
    return {int(pid) for pid in text.split()}


def alone(leader: int) -> bool:
    """True: this process has no child but `leader`, by one cheap look that may overlook some."""
    try:
        return children() <= {leader}
    except OSError:
        return False


def reap_all_but(kept: Collection[int]) -> None:
    """Take the statuses of our children that have ended, as far as they can be seen."""
    with suppress(OSError):
        for pid in children().difference(kept):
            reaped(pid)


def childless() -> bool:
    """True: the kernel says that this process has no children, not even zombies."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return True
    return False


def remaining(pids: Collection[int]) -> frozenset[int]:
    """Those of these children that still run; the others are reaped."""
    left = set(pids)
    for pid in pids:
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            # Its own parent takes its status; or somebody's has been taken by now.
            ended = pid if _is_gone(pid) else 0
        if ended:
            left.discard(pid)
    return frozenset(left)


class Ending:
    """The end of everything below this process: SIGTERM, a grace, then SIGKILL until nothing is left.

    `leader` is a child whose status its owner takes: it is signalled but never reaped here, and while it
    is not reaped its process group is signalled whole, which no amount of forking outruns. `spared` are
    children that are not part of the tree, with all below them. What is in the `enclosure` is part of it,
    whoever its parent is. Who outlives SIGKILL for `patience`
    seconds is left; whatever is new in the meantime never is.
    """

    def __init__(
        self,
        now: float,
        *,
        grace: float,
        leader: int | None = None,
        spared: Collection[int] = (),
        enclosure: Enclosure | None = None,
        patience: float = GIVE_UP,
    ) -> None:
        self._leader = leader
        self._spared = spared
        self._enclosure = enclosure
        self._patience = patience
        self._kill_at = now + grace
        self._asked = grace <= 0.0
        self._killed: dict[tuple[int, int], float] = {}
        """Since when those that SIGKILL has not ended yet were sent it, by number and birth."""
        self._pause = _FIRST_PAUSE
        self.due = now
        """When the next step is due, by the awake clock."""
        self.remains: tuple[Member, ...] = ()
        """What could not be ended, once `step` gave up."""

    def hurry(self, now: float, *, grace: float = 0.0) -> None:
        """Do not wait longer than `grace` before SIGKILL."""
        self._kill_at = min(self._kill_at, now + grace)
        self.due = min(self.due, self._kill_at)

    def step(self, now: float) -> bool:
        """Signal and reap what is there. True: nothing is left but the leader's zombie, or it gave up."""
        if now >= self._kill_at:
            self._signal_group(signal.SIGKILL)
            if self._enclosure is not None:
                self._enclosure.kill()
            self._chase()
        try:
            over = self._sweep(now)
        except OSError:
            # Without a descriptor to look with nothing is known of what is left: it is looked at again.
            over = False
        self._schedule(now)
        return over

    def _chase(self) -> None:
        """Kill and reap our own children, and whom their death makes ours, quicker than they fork.

        Those who fork and exit while all processes are swept outrun the sweep; this look they do not.
        """
        dying: set[int] = set()
        for _ in range(_ROUNDS):
            try:
                fresh = [pid for pid in children() - dying if pid not in self._spared]
            except OSError:
                return
            if not fresh:
                return
            for pid in fresh:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            dying.update(pid for pid in fresh if pid == self._leader or not reaped(pid))

    def _sweep(self, now: float) -> bool:
        leader = self._leader if self._leader_has_ended() else None
        found = [member for member in self._found() if member.pid != leader]
        if not found and (self._leader is not None or self._spared or childless()):
            return True
        members = [member for member in found if not self._over(member)]
        alive = [member for member in members if not member.zombie or member.parent == os.getpid()]
        if now >= self._kill_at:
            self._signal(alive, signal.SIGKILL)
            self._killed = {(one.pid, one.born): self._killed.get((one.pid, one.born), now) for one in alive}
            deaf = all(now - since >= self._patience for since in self._killed.values())
            self.remains = tuple(alive) if deaf else ()
        elif not self._asked:
            self._asked = True
            for number in (signal.SIGTERM, signal.SIGCONT):
                # A stopped process cannot act on SIGTERM before it continues.
                self._signal_group(number)
                self._signal(alive, number)
        return bool(self.remains)

    def _found(self) -> list[Member]:
        members = below(self._spared)
        if self._enclosure is None:
            return members
        known = {member.pid for member in members}.union(self._spared)
        others = [pid for pid in self._enclosure.pids() if pid not in known]
        return members + [process(pid) or _unseen(pid) for pid in others]

    def _schedule(self, now: float) -> None:
        self.due = now + self._pause
        if now < self._kill_at:
            self.due = min(self.due, self._kill_at)
        self._pause = min(self._pause * 2.0, _LONGEST_PAUSE)

    def _signal_group(self, number: signal.Signals) -> None:
        if self._leader is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._leader, number)

    def _signal(self, alive: list[Member], number: signal.Signals) -> None:
        for member in alive:
            if member.group != self._leader or member.group == 0:
                send(member, number)

    def _leader_has_ended(self) -> bool:
        if self._leader is None:
            return False
        try:
            return os.waitid(os.P_PID, self._leader, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:
            return True

    def _over(self, member: Member) -> bool:
        """Whether this child has ended, and is reaped unless it is the leader.

        What looks like a zombie may have threads that run on: only a wait tells.
        """
        if not member.zombie or member.parent != os.getpid():
            return False
        return self._leader_has_ended() if member.pid == self._leader else reaped(member.pid)


def reaped(stray: int) -> bool:
    """Whether this child has ended, and its status is taken."""
    try:
        return os.waitpid(stray, os.WNOHANG)[0] == stray
    except ChildProcessError:
        return True


def process(pid: int) -> Member | None:
    """The process of that number; None where there is none, or none that we may look at.

    Raises OSError where that cannot be told, as without a descriptor to look with.
    """
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = os.read(fd, 1024)
        finally:
            os.close(fd)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ESRCH, errno.EACCES, errno.EPERM):
            return None
        raise
    head, _, rest = text.rpartition(b")")
    fields = rest.split()
    return Member(
        pid=pid,
        parent=int(fields[1]),
        group=int(fields[2]),
        zombie=fields[0] in (b"Z", b"X"),
        stopped=fields[0] in (b"T", b"t"),
        born=int(fields[19]),
        name=head.partition(b"(")[2].decode("utf-8", "replace"),
    )


def _unseen(pid: int) -> Member:
    """A process that is there and may not be looked at, or was until just now."""
    return Member(pid=pid, parent=0, group=0, zombie=False, stopped=False, born=0, name="?")


def _is_gone(pid: int) -> bool:
    with suppress(OSError):
        return process(pid) is None
    return False


def send(to: Member, number: signal.Signals) -> None:
    """Signal exactly that process: by then its number may be another's, unless it is ours to reap.

    Where there is no descriptor to be sure with, it is not signalled.
    """
    with suppress(OSError):
        if to.parent == os.getpid():
            os.kill(to.pid, number)
            return
        fd = os.pidfd_open(to.pid)
        try:
            again = process(to.pid)
            if again is not None and again.born == to.born:
                signal.pidfd_send_signal(fd, number)
        finally:
            os.close(fd)
