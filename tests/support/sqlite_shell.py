"""A stand-in for the sqlite3 shell, as far as the tests use it, for machines that have only Python.

`sqlite3 [-batch] [-cmd LINE]... FILE [SQL]`; without SQL it reads standard input. Imports nothing of
ours: its process has one SQLite, the system's.
"""

import re
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing


def statements(lines: Iterable[str]) -> Iterator[str]:
    """Whole statements and dot-commands, each as soon as it is complete."""
    held = ""
    for line in lines:
        if not held.strip() and line.startswith("."):
            yield line.strip()
            continue
        for piece in re.split("(?<=;)", line):
            held += piece
            if piece.endswith(";") and sqlite3.complete_statement(held):
                yield held
                held = ""
    if held.strip():
        yield held


def command(connection: sqlite3.Connection, words: list[str]) -> None:
    """A dot-command."""
    match words:
        case [".timeout", milliseconds]:
            connection.execute(f"PRAGMA busy_timeout = {int(milliseconds)}").fetchall()
        case [".backup", path]:
            with closing(sqlite3.connect(path)) as copy:
                connection.backup(copy)
        case _:
            raise sqlite3.Error(f"this stand-in does not know {' '.join(words)}")


def execute(connection: sqlite3.Connection, statement: str) -> bool:
    """Run one and print its rows; False where it failed, which standard error was told."""
    try:
        if statement.startswith("."):
            command(connection, statement.split())
            return True
        for row in connection.execute(statement).fetchall():
            line = "|".join("" if value is None else str(value) for value in row)
            sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except sqlite3.Error as error:
        sys.stderr.write(f"Error: {error}\n")
        return False
    return True


def main(words: list[str]) -> int:
    """Run what the arguments or standard input hold; the exit status."""
    before: list[str] = []
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option == "-cmd":
            before.append(words.pop(0))
    path, *given = words
    with closing(sqlite3.connect(path, timeout=0.0, isolation_level=None)) as connection:
        for statement in (*before, *statements(given)):
            if not execute(connection, statement):
                return 1
        failed = (
            False if given else [execute(connection, each) for each in statements(sys.stdin)].count(False) > 0
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
