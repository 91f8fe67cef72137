"""Asking another program something: a short answer in little time, or none."""

import subprocess
from collections.abc import Sequence

_MOST = 64 * 1024
"""Characters of an answer."""


def answer(words: Sequence[str], *, seconds: float) -> str | None:
    """What it prints; None where there is no such program, where it fails, or takes longer than that."""
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace")[:_MOST] if done.returncode == 0 else None
