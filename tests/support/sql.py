"""Other programs' SQLite, as people use it: the `sqlite3` shell, and Python's own in a process of its own.

Never in the test's process: two SQLite libraries in one process on one file lose data.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SHELL = shutil.which("sqlite3")

_RUN = """
import json, sqlite3, sys
path, statements = sys.argv[1], json.load(sys.stdin)
connection = sqlite3.connect(path, timeout=10, isolation_level=None)
answers = []
for statement in statements:
    try:
        answers.append(connection.execute(statement).fetchall())
    except sqlite3.Error as error:
        answers.append(f"{type(error).__name__}: {error}")
connection.close()
json.dump(answers, sys.stdout)
"""

_HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=10, isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement).fetchall()
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def holding(path: Path, *statements: str) -> Iterator[int]:
    """For the block another process has executed that, and keeps its connection: its pid."""
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path), *statements],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid
        process.stdin.close()


def stdlib(path: Path, *statements: str) -> list[Any]:
    """Each statement's rows as lists, or its error as text; by Python's sqlite3, in autocommit."""
    ran = subprocess.run(
        [sys.executable, "-c", _RUN, str(path)],
        input=json.dumps(statements),
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    answers: list[Any] = json.loads(ran.stdout)
    return answers


def rows(path: Path, statement: str) -> list[list[Any]]:
    """One query's rows; an error fails the test."""
    (answer,) = stdlib(path, statement)
    assert isinstance(answer, list), answer
    return answer


def shell(path: Path, script: str) -> subprocess.CompletedProcess[str]:
    """A script through the sqlite3 shell, as a person types it."""
    assert SHELL is not None
    return subprocess.run(
        [SHELL, "-batch", str(path)], input=script, capture_output=True, text=True, timeout=30, check=False
    )


def python(source: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """A Python program in a process of its own that can import sqlqd."""
    return run([sys.executable, "-c", source, *arguments], check=check)


def run(command: Sequence[str], *, check: bool = True) -> subprocess.CompletedProcess[str]:
    """A command from the project's root."""
    ran = subprocess.run(
        command,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert not check or ran.returncode == 0, ran.stderr
    return ran
