"""What `doctor` looks at: gathered here, judged in `sqlqd.examine`."""

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sqlqd import holders, mounts, presence
from sqlqd.account import Refused, acting_as, named
from sqlqd.cgroup import read as read_file
from sqlqd.cli import confined, daemons, startable, status
from sqlqd.cli.daemons import Living
from sqlqd.cli.failure import explained
from sqlqd.cli.session import Session
from sqlqd.cli.viewpoint import Viewpoint, viewpoint
from sqlqd.clock import SystemClock
from sqlqd.command.inquiry import answer
from sqlqd.config import Config
from sqlqd.examine import Finding, access, content, note, problem, storage, unseen
from sqlqd.examine import service as units
from sqlqd.examine.access import Paper
from sqlqd.parent.plan import drain_limit
from sqlqd.printable import printable
from sqlqd.store import wal
from sqlqd.store.base import StoreError
from sqlqd.store.library import is_safe, version

_PATIENCE = 5.0
"""Seconds for the database's structure, and for an answer of systemd."""
_FOR_EVER = 1e9

_SYSTEM, _HERE = "/etc/sqlqd", "sqlqd.toml"


def findings(session: Session, config: Config, *, full: bool) -> Iterator[Finding]:
    """All that there is to tell, in the order in which it is looked at."""
    database = config.daemon.database
    living = _living(database)
    runs = living is not None and bool(living.pids)
    view = viewpoint(config)
    yield from storage.library(version(), safe=is_safe(version()))
    yield from _files(config, view, daemon_runs=runs)
    yield from unit(config, living)
    yield from _content(session, full=full, daemon_runs=runs)
    yield from _commands(config, view)


def _living(database: Path) -> Living | None:
    with suppress(OSError):
        return daemons.living(database)
    return None


def _files(config: Config, view: Viewpoint, *, daemon_runs: bool) -> Iterator[Finding]:
    """Of the file from outside. Before it is opened: what else this process did to it would end its locks."""
    database = config.daemon.database
    where, directory = printable(str(database)), database.parent
    yield from storage.file_system(mounts.mount_of(directory), where)
    try:
        yield from storage.room(mounts.room_at(directory), printable(str(directory)))
        folder = paper(directory)
    except OSError as error:
        yield unseen("disk", f"{directory}: {error.strerror}", "make it, or let this user in")
        return
    beside = [_paper_of(path) for path in _beside(database)]
    yield from access.access(
        *(folder, _paper_of(database), [one for one in beside if one is not None], _paper_of(config.path))
    )
    yield from access.refused(_unwritable(database, view), named(view.uid))
    yield from _holders(database, where, daemon_runs=daemon_runs)


def _beside(database: Path) -> list[Path]:
    real = os.path.realpath(database)
    return [Path(f"{real}-wal"), Path(f"{real}-shm"), presence.side_file(database)]


def paper(path: Path) -> Paper:
    """A file's rights. Raises OSError."""
    found = path.stat()
    owner, group = named(found.st_uid), f"{found.st_gid}"
    members: set[str] = set()
    with suppress(KeyError):
        entry = grp.getgrgid(found.st_gid)
        group, members = entry.gr_name, set(entry.gr_mem)
    primary = _primary_group(found.st_uid)
    shared = bool(members - {owner}) or (found.st_gid not in (0, primary))
    return Paper(str(path), stat.S_IMODE(found.st_mode), owner, group, shared)


def _primary_group(uid: int) -> int | None:
    try:
        return pwd.getpwuid(uid).pw_gid
    except KeyError:
        return None


def _paper_of(path: Path) -> Paper | None:
    with suppress(OSError):
        return paper(path)
    return None


def _unwritable(database: Path, view: Viewpoint) -> list[str]:
    wanted = [(database.parent, os.W_OK | os.X_OK)]
    wanted += [(path, os.R_OK | os.W_OK) for path in (database, *_beside(database))]
    try:
        with acting_as(view.eyes):
            return [
                str(path)
                for path, mode in wanted
                if not os.access(path, mode, effective_ids=True) and os.access(path, os.F_OK)
            ]
    except Refused:
        return []


def _holders(database: Path, where: str, *, daemon_runs: bool) -> Iterator[Finding]:
    kept = holders.keeping(database, SystemClock())
    if kept is None:
        yield unseen("wal", "who keeps the database's locks: /proc/locks cannot be read", "run this as root")
        kept = holders.Kept()
    log = storage.Log(wal.size(database), kept.readers, kept.writers, kept.watched)
    yield from storage.log(log, daemon_runs=daemon_runs)
    found = holders.opened(database)
    yield from storage.removed(found.removed, where)
    if found.unseen:
        root = os.geteuid() == 0
        yield unseen(
            "holders",
            "which files "
            + ("1 other process has" if found.unseen == 1 else f"{found.unseen} other processes have")
            + " open",
            "the system keeps that from this root, too" if root else "run this as root",
        )


def unit(config: Config, living: Living | None) -> Iterator[Finding]:
    """Of the unit of systemd that the daemon runs in, or would."""
    if living is None:
        yield unseen("daemon", f"{presence.side_file(config.daemon.database)}", "run this as its owner")
        return
    queues = config.queues.values()
    drain = drain_limit((queue.drain_timeout, queue.kill_grace) for queue in queues)
    for user, name in _services(config, living):
        said = answer(
            ["systemctl", *(["--user"] if user else []), "show", "-p", ",".join(units.PROPERTIES), name],
            seconds=_PATIENCE,
        )
        found = None if said is None else units.read(said)
        if found is not None:
            yield from units.service(found, drain=drain)
        elif said is None:
            yield unseen(
                "unit", f"how {name} is set up: systemctl does not answer", f"`systemctl cat {name}`"
            )


def _services(config: Config, living: Living) -> list[tuple[bool, str]]:
    """The units of the daemons that run; where none does, the one that would."""
    found: list[tuple[bool, str]] = []
    for pid in living.pids:
        text = read_file(Path(f"/proc/{pid}/cgroup"))
        name = units.of_cgroup(text)
        if name is not None:
            found.append(("/user@" in text, name))
    if living.pids:
        return list(dict.fromkeys(found))
    if str(config.path.parent) == _SYSTEM:
        return [
            (False, "sqlqd.service" if config.path.name == _HERE else f"sqlqd@{config.path.stem}.service")
        ]
    return []


def _content(session: Session, *, full: bool, daemon_runs: bool) -> Iterator[Finding]:
    """Of what is in the file."""
    where = printable(str(session.config.daemon.database))
    seconds = _FOR_EVER if full else _PATIENCE
    try:
        sight = status.look(session)
        yield from content.at_a_glance(sight.troubles)
        with session.store() as store:
            condition = store.condition()
            yield from content.schema(condition, where)
            yield from content.clock(condition)
            yield from content.leases(condition, sight.overview, daemon_runs=daemon_runs)
            damages = store.damages(full=full, seconds=seconds)
        yield from storage.structure(damages, where, seconds=seconds)
    except (StoreError, OSError) as error:
        for line in explained(error)[1]:
            yield problem("database", line, "then ask again: nothing in it could be examined")


def _commands(config: Config, view: Viewpoint) -> Iterator[Finding]:
    """Whether commands are there, and held to their limits."""
    if view.uid != view.daemon:
        yield unseen("commands", f"what the daemon can start; looked at as {view.told}", "run this as root")
    told = problem if view.uid == view.daemon else note
    standing = confined.standing(config)
    for queue in config.queues.values():
        name = printable(queue.name)
        for text in startable.warnings(queue, view):
            yield told("commands", f"queue {name}: {text}", f"mend it, or what [queues.{name}] says")
        for text in confined.warnings(queue, standing) if standing.runs else ():
            yield note("limits", f"queue {name}: {text}", "docs/limits.md")
