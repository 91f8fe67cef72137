"""Files of secrets in the syntax of systemd's EnvironmentFile=. No message ever repeats what stands in one.

Stricter where systemd passes over a line that it does not understand: a command without its secret fails
later, and says less.
"""

import errno
import os
import pwd
import re
import stat
from collections.abc import Iterator
from pathlib import Path

LARGEST = 256 * 1024
"""Bytes of such a file. The system lets no environment be much larger."""

_PASSING = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR})
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BLANK = " \t"
_ESCAPED = '"\\`$'
"""What a backslash stands before, inside double quotes; elsewhere there it is a backslash."""


class Unusable(Exception):
    """The file cannot be used, and why: one line with its path and, where there is one, the line's number."""


def read(path: Path) -> dict[str, str]:
    """The variables that a file sets; text that is not UTF-8 by surrogates.

    Raises Unusable, and OSError for what may be different in a moment.
    """
    try:
        # A pipe that nobody writes to would hold the reader.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise Unusable(f"env_file {path}: is not a file")
            with open(fd, "rb", closefd=False) as file:
                data = file.read(LARGEST + 1)
        finally:
            os.close(fd)
    except OSError as error:
        if error.errno in _PASSING:
            raise
        raise Unusable(f"env_file {path}: {_said(error)}") from None
    if len(data) > LARGEST:
        raise Unusable(f"env_file {path}: is larger than 256 KiB")
    text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    try:
        return parse(text)
    except Malformed as wrong:
        raise Unusable(f"env_file {path}:{wrong.line}: {wrong}") from None


class Malformed(ValueError):
    """The text is not understood; `line` counts from 1."""

    def __init__(self, line: int, text: str) -> None:
        """`text`: what is wrong, without what stands there."""
        super().__init__(text)
        self.line = line


def parse(text: str) -> dict[str, str]:
    """The variables that such a text sets, the last of a name counting. Raises Malformed."""
    return dict(_Scan(text.replace("\r\n", "\n").replace("\r", "\n")).pairs())


class _Scan:
    """One pass over the text; `at` is where it stands."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def pairs(self) -> Iterator[tuple[str, str]]:
        while self.at < len(self.text):
            start = self.at
            end = self.text.find("\n", start)
            line = self.text[start : end if end >= 0 else None]
            if not line.strip(_BLANK) or line.lstrip(_BLANK)[0] in "#;":
                self.at += len(line) + 1
                continue
            name = self.name(line)
            value = self.value()
            if "\0" in value:
                raise self.malformed(start, f"{name} holds a NUL byte, which no environment can")
            yield name, value

    def malformed(self, at: int, why: str) -> Malformed:
        return Malformed(self.text.count("\n", 0, at) + 1, why)

    def name(self, line: str) -> str:
        start = self.at
        left, sign, _ = line.partition("=")
        name = left.strip(_BLANK)
        if not sign:
            raise self.malformed(start, "must be NAME=VALUE, or a comment that begins with #")
        if name.startswith("export "):
            raise self.malformed(start, 'no shell reads it: write NAME=VALUE without "export"')
        if not _NAME.fullmatch(name):
            # What stands before the sign may be the rest of a secret of several lines.
            raise self.malformed(start, "what stands before the = cannot be the name of a variable")
        if name.startswith("SQLQD_"):
            raise self.malformed(start, "names that begin with SQLQD_ are set by the daemon")
        self.at += len(left) + 1
        return name

    def value(self) -> str:
        """Quoted pieces, then what is left of the line as it stands."""
        found = ""
        while True:
            self.blank()
            sign = self.text[self.at : self.at + 1]
            if sign not in ('"', "'"):
                return found + self.plain()
            found += self.double() if sign == '"' else self.single()

    def blank(self) -> None:
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1

    def plain(self) -> str:
        found, kept = "", 0
        while (sign := self.next()) not in ("", "\n"):
            if sign == "\\":
                sign = self.next()
                found += "" if sign == "\n" else sign
                kept = len(found)
            else:
                found += sign
        return found[:kept] + found[kept:].rstrip(_BLANK)

    def single(self) -> str:
        start = self.at
        end = self.text.find("'", start + 1)
        if end < 0:
            raise self.malformed(start, "the quote is not closed")
        found = self.text[start + 1 : end]
        self.at = end + 1
        return found

    def double(self) -> str:
        start, found = self.at, ""
        self.at += 1
        while (sign := self.next()) != '"':
            if not sign:
                raise self.malformed(start, "the quote is not closed")
            if sign == "\\":
                sign = self.next()
                if sign == "\n":
                    continue
                found += sign if sign in _ESCAPED else f"\\{sign}"
            else:
                found += sign
        return found

    def next(self) -> str:
        """The character here, behind which it stands then; empty at the end."""
        sign = self.text[self.at : self.at + 1]
        self.at += 1
        return sign


def _said(error: OSError) -> str:
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return "there is no such file"
        case errno.EACCES:
            return f"{_who()} may not read it"
        case _:
            return f"cannot be read: {error.strerror}"


def _who() -> str:
    uid = os.geteuid()
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
