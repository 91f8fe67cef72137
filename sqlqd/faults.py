"""Named points where a test makes a process die, stop or fail; nothing happens elsewhere.

A test names one point and what is to happen there in the environment: `SQLQD_FAULT="worker.claimed=kill"`,
or `"worker.claimed=kill@3"` for the third time only. `kill` ends the process by SIGKILL, `stop` stops it,
`error` raises OSError(EIO).
"""

import errno
import os
import signal

POINTS = frozenset(
    {
        "parent.forked",
        "parent.reaped",
        "worker.claimed",
        "worker.started",
        "worker.ended",
        "worker.settled",
        "steward.looked",
        "store.begun",
        "store.before_commit",
        "store.after_commit",
    }
)


def _planned(text: str) -> tuple[str, str, int]:
    point, _, rest = text.partition("=")
    action, _, count = rest.partition("@")
    return point, action, int(count or 0)


_POINT, _ACTION, _AT = _planned(os.environ.get("SQLQD_FAULT", ""))
_seen = 0


def point(name: str) -> None:
    """Do what the environment asks for at this point; by default nothing."""
    if name != _POINT:
        return
    global _seen  # noqa: PLW0603 - a process's own count of how often it came by
    _seen += 1
    if _AT and _seen != _AT:
        return
    if _ACTION == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif _ACTION == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif _ACTION == "error":
        raise OSError(errno.EIO, f"planted fault at {name}")
