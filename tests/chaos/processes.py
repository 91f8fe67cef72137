"""Finding the daemon's processes, and whatever it left, by /proc alone."""

from pathlib import Path

PROC = Path("/proc")


def children(pid: int) -> list[int]:
    """The processes whose parent is `pid`."""
    found = []
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            stat = _read(entry / "stat").decode(errors="replace")
            # The name, in parentheses, may hold anything; what follows it is the state and the parent.
            if stat and stat.rpartition(")")[2].split()[1] == str(pid):
                found.append(int(entry.name))
    return found


def forks(pid: int) -> list[int]:
    """Those children of a process that run the same program: the daemon's steward and workers."""
    mine = _read(PROC / str(pid) / "cmdline")
    return [child for child in children(pid) if mine and _read(PROC / str(child) / "cmdline") == mine]


def marked(mark: str) -> list[str]:
    """Every living process with `mark` in its environment: pid and command line."""
    found = []
    for entry in PROC.iterdir():
        if entry.name.isdigit() and mark.encode() in _read(entry / "environ").split(b"\0"):
            words = _read(entry / "cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
            found.append(f"{entry.name} {words}")
    return found


def _read(path: Path) -> bytes:
    """A file of /proc, or nothing where its process is gone or another's."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
