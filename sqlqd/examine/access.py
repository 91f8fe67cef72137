"""Who may do what to the files: what a umask, a restored copy or a careless chmod have left."""

import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlqd.examine import Finding, note, problem
from sqlqd.printable import printable

_BOTH = stat.S_IRGRP | stat.S_IWGRP


@dataclass(frozen=True, slots=True)
class Paper:
    """A file or directory as the system has it on record."""

    path: str
    mode: int
    """Permission bits, with setgid and sticky."""
    owner: str
    group: str
    shared: bool = False
    """Whether others than its owner are in its group."""

    def __str__(self) -> str:
        """As `ls` would have it."""
        return f"{printable(self.path)} ({self.mode:04o} {printable(self.owner)}:{printable(self.group)})"

    def has(self, bits: int) -> bool:
        """Whether all of these bits are set."""
        return self.mode & bits == bits


def access(
    directory: Paper, database: Paper | None, beside: Sequence[Paper], config: Paper | None
) -> Iterator[Finding]:
    """What of it keeps somebody out who belongs in, or lets somebody in who does not."""
    yield from _open_to_all(directory, database, config)
    if config is not None and config.shared and config.has(stat.S_IWGRP):
        yield note(
            *("access", f"whoever is in group {printable(config.group)} decides what is run: {config}"),
            f"chmod g-w {printable(config.path)}",
        )
    if database is None:
        return
    for other in beside:
        yield from _unlike(database, other)
    yield from _of_group(directory, database)


def _open_to_all(directory: Paper, database: Paper | None, config: Paper | None) -> Iterator[Finding]:
    harms = (
        (directory, "every user may put other files in the place of the database"),
        (database, "every user may change every job"),
        (config, "every user decides what is run"),
    )
    for paper, harm in harms:
        if paper is not None and paper.has(stat.S_IWOTH):
            yield problem("access", f"{harm}: {paper}", f"chmod o-w {printable(paper.path)}")
    if database is not None and database.has(stat.S_IROTH) and directory.has(stat.S_IXOTH):
        yield note(
            "access", f"every user may read every payload: {database}", f"chmod o= {printable(database.path)}"
        )


def _unlike(database: Paper, other: Paper) -> Iterator[Finding]:
    """SQLite gives what it makes beside a database the database's own rights."""
    same_group = other.group == database.group and other.mode & _BOTH == database.mode & _BOTH
    if same_group or (not database.mode & _BOTH and other.owner == database.owner):
        return
    yield problem(
        "access",
        f"{other} is not as open as {database}: some who may use the one are refused the other",
        f"chown {printable(database.owner)}:{printable(database.group)} {printable(other.path)} && "
        f"chmod {database.mode & 0o777:o} {printable(other.path)}",
    )


def _of_group(directory: Paper, database: Paper) -> Iterator[Finding]:
    group, folder = printable(database.group), printable(directory.path)
    if directory.has(stat.S_ISGID) and directory.group != database.group:
        yield problem(
            "access",
            f"{database} is not of its directory's group {printable(directory.group)}, whose members are "
            "refused it",
            f"chgrp {printable(directory.group)} {printable(database.path)} && "
            f"chmod g+rw {printable(database.path)}",
        )
    elif database.shared and database.has(_BOTH):
        if directory.group != database.group or not directory.has(stat.S_IWGRP | stat.S_IXGRP):
            yield note(
                "access",
                f"members of {group} may write {printable(database.path)} and not its directory {directory}, "
                "without which SQLite refuses them",
                f"chgrp {group} {folder} && chmod 2770 {folder} lets them in, "
                f"chmod g= {printable(database.path)} keeps them out",
            )
        elif not directory.has(stat.S_ISGID):
            yield note(
                *("access", f"what members of {group} make in {directory} is not the group's"),
                f"chmod g+s {folder}",
            )


def refused(paths: Sequence[str], whom: str) -> Iterator[Finding]:
    """What the daemon's user may not write."""
    for path in paths:
        yield problem(
            *("access", f"{printable(whom)} may not write {printable(path)}"),
            f"give it to {printable(whom)}, or to a group that {printable(whom)} is in: `ls -ld`, chown",
        )
