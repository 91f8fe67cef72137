"""What a command is started with, and what it means when it cannot be. Decides; starts nothing."""

import errno
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlqd import account, cgroup, placeholders
from sqlqd.account import Account
from sqlqd.command import envfile
from sqlqd.config import Queue
from sqlqd.model import Claim, Ended

LARGEST_IN_ENVIRONMENT = 64 * 1024
"""Bytes of a payload that SQLQD_PAYLOAD holds; a longer one comes by standard input alone."""

SHELL = "/bin/sh"

_DAEMONS_OWN = (b"NOTIFY_SOCKET", b"JOURNAL_STREAM", b"INVOCATION_ID", b"MAINPID")
_DAEMONS_OWN_PREFIXES = (b"WATCHDOG_", b"LISTEN_", b"SQLQD_")

_PASSING = frozenset(
    {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ETXTBSY, errno.EINTR, errno.ENOBUFS}
)
_BLAMELESS = 4096
"""Bytes that a job may add without being what made an environment too large."""

# A path that the shell would run as it stands: no quotes, variables, assignments or patterns in it.
_FIRST_WORD = re.compile(r"\s*([\w.+@:,%/-]*/[\w.+@:,%/-]*)(?=[\s;&|<>()]|$)")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a command was not started: NOT_STARTED or UNFIT, in words, and whether it lasts."""

    how: Ended
    detail: str
    lasting: bool = False


def arguments(queue: Queue, claim: Claim) -> list[bytes]:
    """The argument vector, in the configuration's own encoding; a command line goes to the shell.

    Raises placeholders.Lacking where the payload does not have what one of them needs.
    """
    if isinstance(queue.command, str):
        return [_bytes(word) for word in (SHELL, "-c", queue.command)]
    return [_bytes(word) for word in placeholders.filled(queue.command, claim.job)]


def program(queue: Queue) -> str:
    """What is started."""
    return SHELL if isinstance(queue.command, str) else queue.command[0]


def inherited(base: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """What commands get of the daemon's environment: all but what is meant for the daemon alone."""
    return {name: value for name, value in base.items() if not _daemons_own(name)}


def environment(
    base: Mapping[bytes, bytes],
    queue: Queue,
    claim: Claim,
    *,
    config: Path,
    worker: str,
    as_user: Account | None = None,
) -> dict[bytes, bytes]:
    """The command's environment, in bytes, since the locale's encoding may not hold the payload.

    `base`: what is `inherited`. What comes later wins. Raises envfile.Unusable.
    """
    env = dict(base)
    secrets = {} if queue.env_file is None else envfile.read(queue.env_file)
    for variables in (as_user.variables() if as_user else {}, queue.env, secrets):
        env.update((_bytes(name), _bytes(value)) for name, value in variables.items())
    env.update(_about(claim, queue))
    env[b"SQLQD_CONFIG"] = os.fsencode(config)
    env[b"SQLQD_WORKER"] = worker.encode()
    return env


def unfit(queue: Queue, claim: Claim) -> Refusal | None:
    """Why this job could never be started, whatever the command; None where nothing speaks against it."""
    for name, value in _about(claim, queue).items():
        if b"\0" in value:
            what = name.decode().removeprefix("SQLQD_").lower()
            return Refusal(Ended.UNFIT, f"{what} holds a NUL byte, which no environment can")
    try:
        words = arguments(queue, claim)
    except placeholders.Lacking as lacking:
        return Refusal(Ended.UNFIT, str(lacking))
    if any(b"\0" in word for word in words):
        return Refusal(Ended.UNFIT, "the payload holds a NUL byte, which no argument can")
    return None


def missing(queue: Queue) -> Refusal | None:
    """What the shell would only tell by a status of 126 or 127, where its first word is a path."""
    if not isinstance(queue.command, str) or (word := _FIRST_WORD.match(queue.command)) is None:
        return None
    if not queue.cwd.is_dir():
        return None
    if (why := fault(queue, word.group(1))) is None:
        return None
    return Refusal(Ended.NOT_STARTED, why, lasting=True)


def fault(queue: Queue, program: str) -> str | None:
    """Why the program at a path cannot be started; None: it can. Raises PermissionError on a closed way."""
    path = queue.cwd / program
    if path.is_dir():
        what = "it is a directory"
    elif not path.exists():
        what = "no such file"
    elif not os.access(path, os.X_OK, effective_ids=True):
        what = "it may not be executed"
    else:
        return None
    return f"cannot start {path}: {what}{_whence(queue, program)}"


def _whence(queue: Queue, program: str) -> str:
    """Where a relative path was looked for: whoever wrote it may have had the configuration in mind."""
    return f" (`cwd` is {queue.cwd})" if "/" in program and not program.startswith("/") else ""


def closed(queue: Queue) -> Refusal | None:
    """Why the queue's user cannot be where its commands run: root, who starts them, can be anywhere."""
    if queue.user is None:
        return None
    try:
        status = queue.cwd.stat()
        if not stat.S_ISDIR(status.st_mode) or os.access(queue.cwd, os.X_OK, effective_ids=True):
            return None
        said = f"{queue.user} may not"
    except OSError as error:
        said = (error.strerror or str(error)).lower()
    return Refusal(Ended.NOT_STARTED, f"cannot enter the directory {queue.cwd}: {said}", lasting=True)


def refused(error: OSError, queue: Queue, claim: Claim) -> Refusal:
    """What the system's refusal to start a command means for its job and its queue."""
    if isinstance(error, (cgroup.Refused, account.Refused)):
        return Refusal(Ended.NOT_STARTED, f"{error.strerror}", lasting=error.errno not in _PASSING)
    if error.errno == errno.E2BIG:
        return _too_large(queue, claim)
    said = (error.strerror or str(error)).lower()
    if error.errno in _PASSING:
        return Refusal(Ended.NOT_STARTED, f"no command can be started now: {said}")
    what = os.fsdecode(error.filename) if error.filename else program(queue)
    if what == os.fspath(queue.cwd) and what != program(queue):
        return Refusal(Ended.NOT_STARTED, f"cannot enter the directory {what}: {said}", lasting=True)
    if error.errno == errno.ENOENT and "/" in what and (queue.cwd / what).exists():
        said = "the interpreter that it names is missing"
    return Refusal(Ended.NOT_STARTED, f"cannot start {what}: {said}{_whence(queue, what)}", lasting=True)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _daemons_own(name: bytes) -> bool:
    return name in _DAEMONS_OWN or name.startswith(_DAEMONS_OWN_PREFIXES)


def _about(claim: Claim, queue: Queue) -> dict[bytes, bytes]:
    job = claim.job
    about = {
        "SQLQD_JOB_ID": job.id,
        "SQLQD_QUEUE": job.queue,
        "SQLQD_KEY": job.key or "",
        "SQLQD_ATTEMPT": str(job.attempts),
        "SQLQD_MAX_ATTEMPTS": str(claim.max_attempts),
    }
    if queue.payload_env and len(job.payload.encode()) <= LARGEST_IN_ENVIRONMENT:
        about["SQLQD_PAYLOAD"] = job.payload
    return {name.encode(): value.encode() for name, value in about.items()}


def _too_large(queue: Queue, claim: Claim) -> Refusal:
    size = sum(len(name) + len(value) + 2 for name, value in _about(claim, queue).items())
    if not isinstance(queue.command, str):
        size += sum(map(len, arguments(queue, claim))) - sum(map(len, queue.command))
    if size <= _BLAMELESS:
        return Refusal(
            Ended.NOT_STARTED, "the environment and the arguments are too large for the system", lasting=True
        )
    return Refusal(Ended.UNFIT, f"payload too large for environment ({size} bytes)")
