"""What would let somebody in whom the system has refused a file: one clause to put behind the refusal."""

import grp
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

from sqlqd.account import named, of_uid

_LETTERS = {os.R_OK: "r", os.W_OK: "w", os.X_OK: "x"}
_GROUPS = {os.R_OK: stat.S_IRGRP, os.W_OK: stat.S_IWGRP, os.X_OK: stat.S_IXGRP}


def to_read(path: Path) -> str:
    """What would let this user read a file."""
    return _way([*_folders(path), (path, os.R_OK)])


def to_change(database: Path) -> str:
    """What would let this user read and write a database and the files beside it."""
    *folders, (parent, _) = _folders(database)
    return _way([*folders, (parent, os.W_OK | os.X_OK), (database, os.R_OK | os.W_OK)])


def _folders(path: Path) -> Iterator[tuple[Path, int]]:
    """Those on the way to it, from the top."""
    return ((folder, os.X_OK) for folder in reversed(path.parents))


def _way(wanted: list[tuple[Path, int]]) -> str:
    """What would open the first thing on the way that is closed."""
    for path, access in wanted:
        try:
            if os.access(path, access, effective_ids=True):
                continue
            status = path.stat()
        except OSError:
            break
        if status.st_uid == os.geteuid():
            # Its owner is kept out by its mode, and nobody else has to be asked.
            letters = "".join(letter for bit, letter in _LETTERS.items() if access & bit)
            return f"it is the mode of {path}, which is yours: chmod u+{letters} {quote(str(path))}"
        bits = [bit for asked, bit in _GROUPS.items() if access & asked]
        if status.st_gid != 0 and all(status.st_mode & bit for bit in bits):
            return _membership(status.st_gid) or f"run this as {named(status.st_uid)}"
        return f"run this as {named(status.st_uid)}"
    return "run this as its owner"


def _membership(gid: int) -> str | None:
    """How this user comes to be in that group; None where that is not what is missing."""
    uid = os.geteuid()
    if gid in (os.getegid(), *os.getgroups()):
        return None
    try:
        group = grp.getgrgid(gid).gr_name
    except KeyError:
        group = f"{gid}"
    account = of_uid(uid)
    if account is not None and gid in account.groups:
        return f"you joined group {group} after you had logged in: log in again"
    return f"add yourself to group {group}: sudo usermod -aG {group} {named(uid)}, then log in again"
