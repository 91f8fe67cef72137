"""Users of this system: who one is, what a command of his is given, and what he may do to files."""

import ctypes
import errno
import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypedDict

_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4


class Refused(OSError):
    """Nobody can be that user here; `strerror` says why."""


class Identity(TypedDict, total=False):
    """What subprocess.Popen needs to start a program as somebody else."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, slots=True)
class Account:
    """A user, by what the system has on record."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    """All that he is in, `gid` too."""
    home: str
    shell: str

    def variables(self) -> dict[str, str]:
        """Those of the environment that tell a program whose it is."""
        return {"HOME": self.home, "USER": self.name, "LOGNAME": self.name, "SHELL": self.shell}

    def identity(self) -> Identity:
        """What makes a program his; nothing where only root could and this process is not."""
        if os.geteuid() != 0:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": list(self.groups)}


def find(name: str) -> Account | None:
    """The user of that name, or else of that number; None where there is none."""
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        return of_uid(int(name)) if name.isascii() and name.isdigit() else None
    except ValueError:
        # The locale's encoding does not have it.
        return None
    return _account(entry)


def of_uid(uid: int) -> Account | None:
    """The user with that number; None where there is none."""
    try:
        return _account(pwd.getpwuid(uid))
    except (KeyError, OverflowError):
        return None


def named(uid: int) -> str:
    """What a user is called in messages, also one of whom there is no record."""
    known = of_uid(uid)
    return f"uid {uid}" if known is None else known.name


def for_commands(name: str) -> Account:
    """The user whom commands are to run as. Raises Refused where there is none, or this process cannot."""
    account = find(name)
    if account is None:
        raise Refused(errno.ENOENT, absent(name))
    if (why := out_of_reach(account)) is not None:
        raise Refused(errno.EPERM, why)
    return account


def absent(name: str) -> str | None:
    """Why that cannot be a user here; None where there is one."""
    if find(name) is not None:
        return None
    return f'there is no user "{name}" on this system'


def hindrance(name: str) -> str | None:
    """Why this process cannot run commands as that user; None where it can, as far as can be seen."""
    account = find(name)
    return absent(name) if account is None else out_of_reach(account)


def out_of_reach(account: Account, daemon: int | None = None) -> str | None:
    """Why that daemon (a uid), else this process, cannot run commands as the user; None where it can."""
    uid = os.geteuid() if daemon is None else daemon
    if uid in (0, account.uid):
        return None
    return (
        f"only a daemon that runs as root can run commands as {account.name}, and this is {named(uid)}: "
        "see scripts/install --root"
    )


@contextmanager
def acting_as(account: Account | None) -> Iterator[None]:
    """For the block, what this process may do to files is what that user may, if it is root's.

    Raises Refused. Only the effective user changes: nobody can signal or trace it who could not before.
    """
    if account is None or os.geteuid() != 0 or account.uid == 0:
        yield
        return
    group, groups, dumpable = os.getegid(), os.getgroups(), _control(_PR_GET_DUMPABLE)
    try:
        os.setgroups(account.groups)
        os.setegid(account.gid)
        os.seteuid(account.uid)
    except PermissionError:
        _be_root(group, groups, dumpable)
        raise Refused(
            errno.EPERM,
            f"this root may not become {account.name}: its unit keeps CAP_SETUID and CAP_SETGID "
            "from it, or the calls that need them; see scripts/install --root",
        ) from None
    try:
        yield
    finally:
        _be_root(group, groups, dumpable)


def _be_root(group: int, groups: list[int], dumpable: int) -> None:
    os.seteuid(0)
    os.setegid(group)
    if os.getgroups() != groups:
        os.setgroups(groups)
    # Else a daemon that looks for its relics could not look at who was somebody else for a moment.
    _control(_PR_SET_DUMPABLE, dumpable)


def _control(*words: int) -> int:
    libc: Any = ctypes.CDLL(None)
    return int(libc.prctl(*words, *(0,) * (5 - len(words))))


def _account(entry: pwd.struct_passwd) -> Account:
    groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid, groups, entry.pw_dir, entry.pw_shell)
