"""What runs on although nobody answers for it: commands whose worker is gone, and stopped processes of ours.

Normally a parent ends what its workers leave and a worker ends its command's tree. Where both were killed
together, or stand stopped, nobody does; so before a job is given out again, what still runs for its old
lease is ended here. Found by the environment that commands were started with, by the names of our own
processes, and by what is below those. Out of sight remain orphans that had dropped their environment,
processes of users whom we may not read, and those in another container.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL

from sqlqd import log, proc, tree
from sqlqd.clock import Clock
from sqlqd.identity import Identity, identity, open_files
from sqlqd.model import Lease

PATIENCE = 2.0
"""Seconds of SIGKILLs after which what remains does not count: it sleeps in the kernel, and runs no more."""

_LOOK_AGAIN = 0.02
_BESIDE = ("-wal", "-shm")
_WORKER, _JOB = b"SQLQD_WORKER=", b"SQLQD_JOB_ID="

Processes = dict[int, tree.Member]
"""What runs, by number; no zombies."""


def running() -> Processes:
    """All that runs at this moment."""
    return {one.pid: one for one in tree.processes() if not one.zombie}


def at_work_on(file: Identity) -> bool:
    """Whether a child of some daemon of this user has that database open; also where nobody can tell."""
    try:
        return any(True for _ in _ours(file, running()))
    except OSError:
        return True


class Relics:
    """Ends what nobody answers for, in steps that never wait."""

    def __init__(self, clock: Clock, tell: Callable[[Sequence[tree.Member]], None] = lambda _: None) -> None:
        """`tell` hears of each process once, when it is killed."""
        self._clock = clock
        self._tell = tell
        self._killed: dict[tuple[int, int], float] = {}

    def end_of_leases(self, over: Iterable[Lease]) -> bool:
        """Kill what runs for leases that are over. True: nothing does, or nothing that SIGKILL would end.

        Where there is no descriptor to look with, nobody knows: that is not true either.
        """
        leases = list(over)
        try:
            everyone = running()
            commands = _commands(leases, everyone)
        except OSError:
            return False
        workers = (one for lease in leases for one in _workers_of(lease, everyone))
        stopped = {one.pid for one in workers if one.stopped and _is_mine(one.pid)}
        return self._end(everyone, stopped | commands)

    def end_of_dead_daemons(self, database: Path, held: Iterable[Lease], living: Collection[int]) -> None:
        """End what daemons that are not among the living left, as a daemon that starts: before it needs the
        lock that a stopped process may have. Waits for workers that are just leaving; at most `PATIENCE`.
        """
        leases = list(held)
        end_at = self._clock.awake() + PATIENCE
        while True:
            everyone = running()
            ours = _ours(identity(database), everyone)
            left = [one for one in ours if one.parent not in living and _is_orphan(one)]
            forlorn = [lease for lease in leases if _is_forlorn(_workers_of(lease, everyone), left)]
            stopped = {one.pid for one in left if one.stopped}
            gone = self._end(everyone, stopped | _commands(forlorn, everyone))
            now = self._clock.awake()
            if (gone and not left) or now >= end_at:
                return
            proc.wait((), min(now + _LOOK_AGAIN, end_at), self._clock)

    def end_of_enclosure(self, left: tree.Enclosure) -> None:
        """End what is in there, which nobody answers for; at most `PATIENCE`."""
        end_at = self._clock.awake() + PATIENCE
        while inside := left.pids():
            everyone = running()
            self._end(everyone, everyone.keys() & set(inside))
            left.kill()
            now = self._clock.awake()
            if now >= end_at:
                return
            proc.wait((), min(now + _LOOK_AGAIN, end_at), self._clock)

    def _end(self, everyone: Processes, roots: set[int]) -> bool:
        now = self._clock.awake()
        spared = {os.getpid(), os.getppid()}
        below = tree.descendants(everyone.values(), roots, spared)
        alive = {(one.pid, one.born): one for one in (*(everyone[pid] for pid in roots - spared), *below)}
        fresh = alive.keys() - self._killed.keys()
        if fresh:
            self._tell([alive[key] for key in sorted(fresh)])
        for one in alive.values():
            tree.send(one, SIGKILL)
        self._killed = {key: self._killed.get(key, now) for key in alive}
        return all(now - since >= PATIENCE for since in self._killed.values())


def log_ended(members: Sequence[tree.Member]) -> None:
    """Say that they were killed."""
    names = ", ".join(f"{one.pid} ({one.name})" for one in members[:5])
    log.event("relics.ended", count=len(members), reason=names)


def _workers_of(lease: Lease, everyone: Processes) -> list[tree.Member]:
    """The holder of a lease where it lives, with what it is just forking. Not by its number, which may be
    another process's by now, and is another where it runs in a container.
    """
    name = proc.child_name(lease.uid)
    return [one for one in everyone.values() if one.name == name]


def _is_forlorn(workers: Collection[tree.Member], left: Collection[tree.Member]) -> bool:
    """Whether nobody will end a command: its worker is dead, or stopped with nobody above it."""
    return all(one.stopped and one in left for one in workers)


def _is_orphan(one: tree.Member) -> bool:
    """Whether it was given to another parent: its own, which it was forked from, was a daemon's."""
    return not proc.is_parent(one.parent)


def _ours(file: Identity, everyone: Processes) -> Iterator[tree.Member]:
    """Workers and stewards, of this user, that have the database open."""
    for one in everyone.values():
        if one.name.startswith(proc.CHILD) and _is_mine(one.pid) and _has_open(one.pid, file):
            yield one


def _is_mine(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}").stat().st_uid == os.geteuid()
    return False


def _has_open(pid: int, file: Identity) -> bool:
    with suppress(OSError):
        return any(found == file and not _is_beside(link) for link, found in open_files(pid))
    return False


def _is_beside(link: Path) -> bool:
    """The number of a file that is gone is soon given to another, likely to the new database's log."""
    try:
        return link.readlink().name.endswith(_BESIDE)
    except OSError:
        return True


def _commands(leases: Iterable[Lease], everyone: Processes) -> set[int]:
    """The processes that carry the marks of one of the leases."""
    wanted = {(lease.uid.encode(), lease.job_id.encode()) for lease in leases if lease.uid}
    return {pid for pid in everyone if _marks(pid) in wanted} if wanted else set()


def _marks(pid: int) -> tuple[bytes, bytes] | None:
    """The worker and the job that a process was started for; None where it was none, or may not be read."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    if _WORKER not in variables:
        return None
    marks = [
        next((one.removeprefix(name) for one in variables.split(b"\0") if one.startswith(name)), b"")
        for name in (_WORKER, _JOB)
    ]
    return marks[0], marks[1]
