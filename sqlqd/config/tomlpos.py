"""Where in a TOML text each key and each item of an array stands; tomllib does not say.

Only for texts that tomllib accepts: what it refuses is not looked at twice here. Used when there is
something to complain about, never on the way to a value.
"""

import re
import tomllib

Path = tuple[str | int, ...]
"""Keys and, in arrays, numbers from 0."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")'
    r"|'''.*?'{3,5}(?!')"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_PLAIN = re.compile(r"[^,\]}#\n]+")


def lines(text: str) -> dict[Path, int]:
    """The line, from 1, of every key, table header and array item."""
    starts = _Scan(text.replace("\r\n", "\n")).run()
    text = text.replace("\r\n", "\n")
    return {path: text.count("\n", 0, at) + 1 for path, at in starts.items()}


class _Scan:
    """One pass over the text; `at` is where it stands."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: dict[Path, int] = {}
        self.counts: dict[Path, int] = {}

    def run(self) -> dict[Path, int]:
        table: Path = ()
        self.skip()
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)
            self.skip()
        return self.found

    def skip(self) -> None:
        """Over white space, newlines and comments."""
        if blank := _BLANK.match(self.text, self.at):
            self.at = blank.end()

    def header(self) -> Path:
        start = self.at
        depth = 2 if self.text.startswith("[[", start) else 1
        self.at += depth
        path = self.inside(self.key())
        if depth == 2:  # noqa: PLR2004 - the brackets of an array of tables
            number = self.counts[path] = self.counts.get(path, -1) + 1
            self.found.setdefault(path, start)
            path = (*path, number)
        self.at = self.text.index("]", self.at) + depth
        for length in range(1, len(path) + 1):
            self.found.setdefault(path[:length], start)
        return path

    def inside(self, key: Path) -> Path:
        """The path of a header, with the number of the newest item of each array of tables on its way."""
        path: Path = ()
        for part in key[:-1]:
            path = (*path, part)
            if path in self.counts:
                path = (*path, self.counts[path])
        return (*path, *key[-1:])

    def key(self) -> Path:
        parts: list[str] = []
        while True:
            self.skip()
            if bare := _BARE.match(self.text, self.at):
                parts.append(bare[0])
                self.at = bare.end()
            elif quoted := _STRING.match(self.text, self.at):
                parts.append(tomllib.loads(f"key = {quoted[0]}")["key"])
                self.at = quoted.end()
            self.skip()
            if not self.text.startswith(".", self.at):
                return tuple(parts)
            self.at += 1

    def pair(self, table: Path) -> None:
        start = self.at
        path = table
        for part in self.key():
            path = (*path, part)
            self.found.setdefault(path, start)
        self.at = self.text.index("=", self.at) + 1
        self.value(path)

    def value(self, path: Path) -> None:
        self.skip()
        if self.text.startswith("[", self.at):
            self.array(path)
        elif self.text.startswith("{", self.at):
            self.inline(path)
        elif whole := _STRING.match(self.text, self.at) or _PLAIN.match(self.text, self.at):
            self.at = whole.end()

    def array(self, path: Path) -> None:
        self.at += 1
        number = 0
        while True:
            self.skip()
            if self.text[self.at] == "]":
                break
            if self.text[self.at] == ",":
                self.at += 1
                continue
            self.found.setdefault((*path, number), self.at)
            self.value((*path, number))
            number += 1
        self.at += 1

    def inline(self, path: Path) -> None:
        self.at += 1
        while True:
            self.skip()
            if self.text[self.at] == "}":
                break
            if self.text[self.at] == ",":
                self.at += 1
                continue
            self.pair(path)
        self.at += 1
