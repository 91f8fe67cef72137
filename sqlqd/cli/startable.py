"""What of a queue keeps its commands from being started, as far as it can be seen without starting any."""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from sqlqd.account import acting_as, find, named, out_of_reach
from sqlqd.cli.viewpoint import Viewpoint
from sqlqd.command import envfile
from sqlqd.command.launch import fault, missing
from sqlqd.config import Queue

_PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
"""A word of a shell's line that names nothing but a program, where it is none of the shell's own."""

_SHELLS_OWN = frozenset(
    {
        *("alias", "bg", "break", "case", "cd", "command", "continue", "echo", "eval"),
        *("exec", "exit", "export", "false", "fg", "for", "getopts", "hash", "if"),
        *("jobs", "kill", "local", "printf", "pwd", "read", "readonly", "return", "set"),
        *("shift", "test", "time", "times", "trap", "true", "type", "ulimit", "umask"),
        *("unalias", "unset", "until", "wait", "while"),
    }
)


def warnings(queue: Queue, view: Viewpoint) -> list[str]:
    """What is the matter, a line each."""
    with acting_as(view.eyes):
        secrets, found = _secrets(queue)
    with acting_as(view.of_command(queue)):
        try:
            found += _place(queue)
            problem = _problem(queue, secrets)
        except OSError as error:
            # A folder on the way is closed.
            problem = f"{named(os.geteuid())} cannot execute {error.filename}"
    return [*_user(queue, view), *found, *([problem] if problem else [])]


def _user(queue: Queue, view: Viewpoint) -> list[str]:
    account = None if queue.user is None else find(queue.user)
    why = None if account is None else out_of_reach(account, view.daemon)
    return [] if why is None else [why]


def _secrets(queue: Queue) -> tuple[Mapping[str, str], list[str]]:
    """What the file of secrets sets, and what is the matter with it."""
    if queue.env_file is None:
        return {}, []
    try:
        secrets = envfile.read(queue.env_file)
        mode = stat.S_IMODE(queue.env_file.stat().st_mode)
    except envfile.Unusable as error:
        return {}, [str(error)]
    except OSError as error:
        return {}, [f"env_file {queue.env_file}: {error.strerror}"]
    if mode & (stat.S_IROTH | stat.S_IWOTH):
        what = "read" if mode & stat.S_IROTH else "write to"
        return secrets, [f"env_file {queue.env_file}: every user may {what} it; chmod o= keeps it from them"]
    return secrets, []


def _place(queue: Queue) -> list[str]:
    if not queue.cwd.is_dir():
        return [f"its directory {queue.cwd} does not exist"]
    if not os.access(queue.cwd, os.X_OK, effective_ids=True):
        return [f"{named(os.geteuid())} may not enter its directory {queue.cwd}"]
    return []


def _problem(queue: Queue, secrets: Mapping[str, str]) -> str | None:
    """Why the command cannot be started; of a shell's line its first word is looked at."""
    path = secrets.get("PATH", queue.env.get("PATH", os.environ.get("PATH", os.defpath)))
    if isinstance(queue.command, str):
        refusal = missing(queue)
        return refusal.detail if refusal else _unknown_word(queue.command, path)
    program = queue.command[0]
    if "/" not in program:
        return _unfound(program, path)
    return fault(queue, program)


def _unknown_word(line: str, path: str) -> str | None:
    """The first word of a shell's line where it can only be a program's name and there is none."""
    word = next(iter(line.split()), "")
    return _unfound(word, path) if _PROGRAM.fullmatch(word) and word not in _SHELLS_OWN else None


def _unfound(program: str, path: str) -> str | None:
    found = any(_executable(os.path.join(folder, program)) for folder in path.split(os.pathsep) if folder)  # noqa: PTH118 - a folder may be any text
    return None if found else f"PATH has no {program}"


def _executable(path: str) -> bool:
    """Not shutil.which: that asks for the real user, who is not acted as."""
    try:
        return Path(path).is_file() and os.access(path, os.X_OK, effective_ids=True)
    except OSError:
        return False
