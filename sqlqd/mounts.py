"""On which file system a path is, by the mounts of whoever asks, and how much room it has."""

import os
import re
from pathlib import Path

from sqlqd.examine.storage import Mount
from sqlqd.room import Space


def mount_of(path: Path) -> Mount | None:
    """The mount that a path is on, links followed; None where it cannot be told."""
    try:
        return located(Path("/proc/self/mountinfo").read_text(encoding="utf-8"), path.resolve())
    except OSError:
        return None


def located(mountinfo: str, path: Path) -> Mount | None:
    """The same by the text of /proc/PID/mountinfo. Of two on one point the later hides the earlier."""
    best: Mount | None = None
    for line in mountinfo.splitlines():
        fields, dash, kinds = line.partition(" - ")
        words = fields.split(" ")
        if not dash or len(words) < 6:  # noqa: PLR2004 - proc(5): six fields before the optional ones
            continue
        point = _unescaped(words[4])
        if path.is_relative_to(point) and (best is None or len(point) >= len(best.point)):
            best = Mount(kinds.split(" ")[0], point)
    return best


def room_at(path: Path) -> Space:
    """The room on its file system. Raises OSError."""
    found = os.statvfs(path)
    files = found.f_favail if found.f_files else None
    return Space(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize, files)


def _unescaped(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)
