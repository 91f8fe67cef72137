"""A cgroup of its own for each job, where systemd has delegated the unit's to us (`Delegate=yes`).

The unit's cgroup may hold no processes itself once it is divided, so the daemon moves into a leaf, and
each job gets another beside it: `worker-N-ID`, after the slot of its worker. What is in there is ended at
one stroke, whatever it forks, and counted as a whole. Where nothing is delegated there is no `Domain`.
"""

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlqd.limits import OPTIONAL

HOME = "daemon"
"""The leaf of the daemon's own processes."""

_ID_LENGTH = 12
_NAMES = 100
"""Leaves of one name that are tried: those of jobs which outlived SIGKILL stay for a while."""

_UNSAFE = re.compile(r"[^0-9A-Za-z_-]")
_BYTES_AT_ONCE = 65_536
_MOST_READS = 256
"""Of one file, of which the kernel gives a page or so at once."""


class Refused(OSError):
    """A cgroup could not be made or entered, or did not take its limits."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What all processes of a cgroup together have used so far. None: not counted here."""

    cpu: float | None = None
    """Seconds."""
    memory_peak: int | None = None
    """Bytes."""
    killed_for_memory: int = 0
    """Processes that the kernel ended for want of memory."""
    met_limit: bool = False
    """Whether it was this cgroup's own limit of memory that was met."""


class Leaf:
    """The cgroup of one job. What reads it never fails: of a cgroup that is gone there is nothing to say."""

    def __init__(self, path: Path, home: Path) -> None:
        """`home`: the cgroup to which whoever enters this one returns."""
        self.path = path
        self._home = home

    @contextmanager
    def entered(self) -> Iterator[None]:
        """This process is in it for the length of the block, and so is from its birth what it starts there.

        Its limits are to be set afterwards, so that they never are this process's own. Raises Refused where
        it cannot be entered; RuntimeError where this process cannot get out again, and must end with the job.
        """
        try:
            write(self.path / "cgroup.procs", "0")
        except OSError as error:
            raise Refused(error.errno, f"cannot enter {self.path.name}: {error.strerror}") from None
        try:
            yield
        finally:
            try:
                write(self._home / "cgroup.procs", "0")
            except OSError as error:
                raise RuntimeError(f"cannot leave the job's cgroup: {error.strerror}") from error

    def limit(self, files: Mapping[str, str]) -> None:
        """Write what these files are to hold. Raises Refused where one does not take it."""
        for name, value in files.items():
            try:
                write(self.path / name, value)
            except OSError as error:
                if name not in OPTIONAL:
                    raise Refused(error.errno, f"{name} cannot be {value}: {error.strerror}") from None

    def pids(self) -> list[int]:
        """What runs in it and below it; no zombies."""
        if "populated 0" in read(self.path / "cgroup.events"):
            return []
        folders = [folder for folder, _, _ in os.walk(self.path)]
        listed = (read(Path(folder) / "cgroup.procs").split() for folder in folders)
        return [int(pid) for pids in listed for pid in pids]

    def kill(self) -> None:
        """SIGKILL to all that is in it, at one stroke. Before Linux 5.14 nothing happens."""
        with suppress(OSError):
            write(self.path / "cgroup.kill", "1")

    def usage(self) -> Usage:
        """What was used in it."""
        used = _numbers(read(self.path / "cpu.stat")).get("usage_usec")
        peak = read(self.path / "memory.peak").strip()
        events = _numbers(read(self.path / "memory.events"))
        return Usage(
            cpu=None if used is None else used / 1e6,
            memory_peak=int(peak) if peak.isdecimal() else None,
            killed_for_memory=events.get("oom_kill", 0),
            met_limit=events.get("oom", 0) > 0,
        )

    def remove(self) -> bool:
        """Take it away with what the job made below it. False: something runs in it."""
        for folder, _, _ in os.walk(self.path, topdown=False):
            try:
                os.rmdir(folder)  # noqa: PTH106 - a Path for each is not needed
            except FileNotFoundError:
                continue
            except OSError:
                return False
        return True


class Leaves:
    """Several of them at once: what jobs left that nobody answers for."""

    def __init__(self, base: Path, prefix: str) -> None:
        self._base = base
        self._prefix = prefix

    def _leaves(self) -> list[Leaf]:
        with suppress(OSError):
            names = sorted(os.listdir(self._base))  # noqa: PTH208 - names are wanted
            return [Leaf(self._base / name, self._base) for name in names if name.startswith(self._prefix)]
        return []

    def pids(self) -> list[int]:
        """What runs in them."""
        return [pid for leaf in self._leaves() for pid in leaf.pids()]

    def kill(self) -> None:
        """SIGKILL to all that is in them."""
        for leaf in self._leaves():
            leaf.kill()

    def remove(self) -> bool:
        """Take them away. False: something runs in one."""
        gone = [leaf.remove() for leaf in self._leaves()]
        return all(gone)


@dataclass(frozen=True, slots=True)
class Domain:
    """A cgroup that is ours to divide, and the controllers that there are in its leaves."""

    base: Path
    controllers: frozenset[str]

    def leaf(self, slot: int, job_id: str) -> Leaf:
        """Make a cgroup for a job. Raises Refused."""
        name = f"{_prefix(slot)}{_UNSAFE.sub('_', job_id[:_ID_LENGTH])}"
        for number in range(_NAMES):
            leaf = Leaf(self.base / (f"{name}-{number + 1}" if number else name), self.base / HOME)
            try:
                leaf.path.mkdir()
            except FileExistsError:
                if not leaf.remove():
                    continue
                with suppress(FileExistsError):
                    leaf.path.mkdir()
            except OSError as error:
                raise Refused(error.errno, f"no cgroup can be made: {error.strerror}") from None
            return leaf
        raise Refused(errno.EEXIST, f"no cgroup can be made: {_NAMES} called {name} are still there")

    def of_slot(self, slot: int) -> Leaves:
        """The cgroups of a worker's jobs."""
        return Leaves(self.base, _prefix(slot))

    def of_all(self) -> Leaves:
        """The cgroups of all jobs."""
        return Leaves(self.base, _prefix())


def _prefix(slot: int | None = None) -> str:
    return "worker-" if slot is None else f"worker-{slot}-"


def _numbers(text: str) -> dict[str, int]:
    """The lines `name number` of a flat file."""
    pairs = (line.split(" ") for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}  # noqa: PLR2004 - a pair


def read(path: Path) -> str:
    """The text of one of the kernel's files; empty where there is none, or none that we may read."""
    text = b""
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            for _ in range(_MOST_READS):
                part = os.read(fd, _BYTES_AT_ONCE)
                text += part
                if not part:
                    break
        finally:
            os.close(fd)
    return os.fsdecode(text)


def write(path: Path, text: str) -> None:
    """Write into one of the kernel's files. Raises OSError where it does not take it."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode("ascii"))
    finally:
        os.close(fd)
