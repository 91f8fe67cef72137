"""Through whose eyes `check` looks at files: the daemon's, as far as it can be told and root asks."""

import os
from dataclasses import dataclass
from pathlib import Path

from sqlqd import account, presence, proc
from sqlqd.account import Account
from sqlqd.config import Config, Queue


@dataclass(frozen=True, slots=True)
class Viewpoint:
    """Whose rights count."""

    uid: int
    """Whose files are looked at as."""
    daemon: int
    """Who the daemon is, or is most likely to be."""
    told: str
    """Both in words."""

    @property
    def eyes(self) -> Account | None:
        """Who is to be acted as; None for whoever asks."""
        return None if self.uid == os.geteuid() else account.of_uid(self.uid)

    def of_command(self, queue: Queue) -> Account | None:
        """The same where a queue's commands run."""
        if queue.user is None or os.geteuid() != 0:
            return self.eyes
        return account.find(queue.user)


def viewpoint(config: Config) -> Viewpoint:
    """That of the daemon that runs; else, where root asks, of the database's owner; else of who asks."""
    me, database = os.geteuid(), config.daemon.database
    runs = _daemon(database)
    if runs is not None:
        who, why = runs, "as which the daemon runs"
    elif me == 0:
        who, why = _owner(database), "who owns the database"
    else:
        return Viewpoint(me, me, _told(me))
    if who == me:
        return Viewpoint(me, me, _told(me))
    if me != 0 or account.of_uid(who) is None:
        return Viewpoint(me, who, f"{_told(me)}; the daemon runs as {_told(who)}, and may see other things")
    return Viewpoint(who, who, f"{_told(who)}, {why}")


def _daemon(database: Path) -> int | None:
    try:
        parents = [pid for pid in presence.living(database) if proc.is_parent(pid)]
        return Path(f"/proc/{parents[0]}").stat().st_uid if parents else None
    except OSError:
        return None


def _owner(database: Path) -> int:
    for path in (database, database.parent):
        try:
            return path.stat().st_uid
        except OSError:
            continue
    return os.geteuid()


def _told(uid: int) -> str:
    name = account.named(uid)
    return name if name.startswith("uid ") else f"{name} (uid {uid})"
