"""What holds the file: the library, the file system, the room on it, the log, and the file's structure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlqd.examine import Finding, note, problem, unseen
from sqlqd.printable import printable
from sqlqd.room import Space
from sqlqd.units import roughly, spell

_MIB = 1024 * 1024
_FULL, _TIGHT = 64 * _MIB, 1024 * _MIB
"""Bytes that are free, below which jobs will soon fail, and below which a share of the disk counts."""
_SHARE = 0.05
_INODES = 100
_LONG_LOG = 64 * _MIB

_NETWORK = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "ceph", "lustre", "beegfs", "gpfs"),
        *("ocfs2", "gfs2", "vboxsf", "davfs", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.rclone"),
        *("fuse.s3fs", "fuse.davfs", "fuse.gcsfuse", "fuse.vmhgfs-fuse"),
    }
)
_PASSED_ON = frozenset({"9p", "virtiofs", "drvfs", "fuseblk", "prl_fs"})
"""A host's files in a guest, and the like: how locks and mapped memory fare is anybody's guess."""
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})


@dataclass(frozen=True, slots=True)
class Mount:
    """A mounted file system."""

    kind: str
    point: str


@dataclass(frozen=True, slots=True)
class Process:
    """One of the system's."""

    pid: int
    name: str

    def __str__(self) -> str:
        """As a person is told of it."""
        return f"{printable(self.name)} (pid {self.pid})"


@dataclass(frozen=True, slots=True)
class Log:
    """The write-ahead log, and who kept its locks at every one of several looks."""

    size: int
    readers: tuple[Process, ...] = ()
    writers: tuple[Process, ...] = ()
    watched: float = 0.0
    """Seconds from the first look to the last."""


def library(version: str, *, safe: bool) -> Iterator[Finding]:
    """The SQLite that this program carries."""
    if not safe:
        yield problem(
            "sqlite",
            f"SQLite {printable(version)} can lose what was committed, when two checkpoints meet",
            "upgrade apsw: 3.51.3, 3.50.7 and 3.44.6 are mended",
        )


def file_system(found: Mount | None, database: str) -> Iterator[Finding]:
    """Whether locks hold there, and whether it lasts."""
    if found is None:
        yield unseen("filesystem", f"on what file system {database} is", "`findmnt -T` may tell")
        return
    kind, point = printable(found.kind), printable(found.point)
    if found.kind in _NETWORK:
        yield problem(
            "filesystem",
            f"{database} is on a network file system ({kind} at {point}), where SQLite's locks do not hold",
            "move it to a local disk (docs/backup.md)",
        )
    elif found.kind in _IN_MEMORY:
        yield problem(
            "filesystem",
            f"{database} is in memory ({kind} at {point}): every job is gone with the next boot",
            "move it to a disk (docs/backup.md)",
        )
    elif found.kind in _PASSED_ON or found.kind.startswith("fuse"):
        yield note(
            "filesystem",
            f"{database} is on {kind} at {point}, which may not have the locks that SQLite relies on",
            "a local disk has them (docs/backup.md)",
        )
    elif found.kind == "overlay":
        yield note(
            "filesystem",
            f"{database} is in a container's own layer, and gone with the container",
            "keep it on a volume",
        )


def room(found: Space, directory: str) -> Iterator[Finding]:
    """Whether the next jobs can be stored."""
    if found.files is not None and found.files < _INODES:
        yield problem(
            *("disk", f"the file system of {directory} takes only {found.files} more files"),
            f"`df -i {directory}`; make room",
        )
    left = f"{roughly(found.free)} of {roughly(found.total)} are free in {directory}"
    if found.free < _FULL:
        yield problem("disk", f"{left}: soon no job can be added or ended", f"`df {directory}`; make room")
    elif found.free < min(_TIGHT, found.total * _SHARE):
        yield note("disk", left, f"`df {directory}`; make room before it is full")


def log(found: Log, *, daemon_runs: bool) -> Iterator[Finding]:
    """How long it is, who keeps it from being copied back, and who keeps others from writing."""
    for one in found.writers:
        yield problem(
            "lock",
            f"{one} has kept the database locked for at least {spell(found.watched)}: nothing can be added, "
            "claimed or ended",
            "have it commit, or end it",
        )
    held = ", ".join(str(one) for one in found.readers)
    if found.size < _LONG_LOG:
        if held:
            yield note(
                "wal",
                f"{held} has had a view of the database open for at least {spell(found.watched)}; the log "
                f"({roughly(found.size)}) cannot begin anew meanwhile",
                "have it end its transaction, or end it",
            )
        return
    long = f"the write-ahead log has {roughly(found.size)}"
    if held:
        yield problem("wal", f"{long}, kept from being copied back by {held}", "have it end its transaction")
    elif not daemon_runs:
        yield problem("wal", f"{long}, and no daemon runs that copies it back", "start the daemon")
    else:
        yield problem(
            "wal",
            f"{long}, and nobody was seen who keeps it from being copied back",
            "look again; a container's processes are not seen from outside, nor a reader that comes and goes",
        )


def removed(holders: Sequence[Process], database: str) -> Iterator[Finding]:
    """Who works on a file that is no longer there."""
    for one in holders:
        yield problem(
            "replaced",
            f"{one} has a file open that was {database} before it was removed or replaced: what it writes is "
            "lost",
            "have it open the database anew, or restart it",
        )


def structure(damages: Sequence[str] | None, database: str, *, seconds: float) -> Iterator[Finding]:
    """Whether the file is whole."""
    if damages is None:
        yield unseen(
            "integrity",
            f"all of {database}: looking took longer than {spell(seconds)}",
            "`sqlqd doctor --full` takes its time",
        )
    for text in damages or ():
        yield problem(
            "integrity",
            f"{database} is damaged: {printable(text)}",
            "stop the daemon, keep the file and those beside it, and restore a backup (docs/backup.md)",
        )
