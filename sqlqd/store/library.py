"""The SQLite that this program carries: which one it is, and whether it loses data in write-ahead logs."""

import apsw

_FIXED = (3, 51, 3)
_BACKPORTS = {(3, 50): 7, (3, 44): 6}


def version() -> str:
    """Its version, as SQLite says it."""
    return apsw.sqlite_lib_version()


def is_safe(text: str) -> bool:
    """Whether a version has the repair of the fault by which a reset of the log could lose commits."""
    major, minor, patch = (int(part) for part in text.split(".")[:3])
    backport = _BACKPORTS.get((major, minor))
    return (major, minor, patch) >= _FIXED or (backport is not None and patch >= backport)
