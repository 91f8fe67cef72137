"""Whether systemd has given us the cgroup that we are in, to divide it among jobs (`Delegate=yes`)."""

import os
import re
from contextlib import suppress
from pathlib import Path

from sqlqd.cgroup import HOME, Domain, read, write
from sqlqd.limits import CONTROLLERS

_KIND = "cgroup2"
_MARKS = ("trusted.delegate", "user.delegate")
"""What systemd marks a delegated cgroup with; only the second can be read without privileges."""


def take() -> Domain | None:
    """Divide this process's cgroup, where it was delegated and nobody else is in it, and move into a leaf.

    To be called once, before anything is forked.
    """
    base = located(read(Path("/proc/self/cgroup")), read(Path("/proc/self/mountinfo")))
    if base is None or not _is_delegated(base):
        return None
    home = base / HOME
    try:
        if (base / "cgroup.procs").read_text(encoding="ascii").split() != [str(os.getpid())]:
            return None
        home.mkdir(exist_ok=True)
        write(home / "cgroup.procs", "0")
    except OSError:
        return None
    for name in _given(base / "cgroup.controllers"):
        with suppress(OSError):
            write(base / "cgroup.subtree_control", f"+{name}")
    return Domain(base, _given(base / "cgroup.subtree_control"))


def of_daemon(pid: int) -> Domain | None:
    """How the daemon with this parent has divided its cgroup; None where it has not, or nobody can tell."""
    home = located(read(Path(f"/proc/{pid}/cgroup")), read(Path("/proc/self/mountinfo")))
    if home is None or home.name != HOME or not _is_delegated(home.parent):
        return None
    return Domain(home.parent, _given(home.parent / "cgroup.subtree_control"))


def located(cgroup: str, mountinfo: str) -> Path | None:
    """Where a process's cgroup is, by /proc/PID/cgroup and the mounts of whoever asks; None where unseen."""
    own = next((line[3:] for line in cgroup.splitlines() if line.startswith("0::/")), None)
    if own is None:
        return None
    for line in mountinfo.splitlines():
        fields, _, kind = line.partition(" - ")
        if kind.split(" ")[0] != _KIND:
            continue
        root, point = (_unescaped(field) for field in fields.split(" ")[3:5])
        root = root.rstrip("/")
        if own == root or own.startswith(f"{root}/"):
            return Path(point + own[len(root) :])
    return None


def _unescaped(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)


def _is_delegated(path: Path) -> bool:
    for name in _MARKS:
        with suppress(OSError):
            if os.getxattr(path, name) == b"1":
                return True
    return False


def _given(path: Path) -> frozenset[str]:
    return frozenset(read(path).split()) & frozenset(CONTROLLERS.values())
