"""Colour, where that is wanted: on a terminal that has it, unless NO_COLOR says otherwise."""

import os
from collections.abc import Mapping

RED, YELLOW, GREEN, BOLD = "31", "33", "32", "1"


class Paint:
    """Gives text a colour, or leaves it as it is."""

    def __init__(self, *, wanted: bool) -> None:
        """`wanted`: whether it does anything at all."""
        self._wanted = wanted

    def __call__(self, text: str, colour: str | None) -> str:
        """The text, which is as wide as before to whoever looks at it."""
        return f"\x1b[{colour}m{text}\x1b[0m" if self._wanted and colour and text else text


def wanted(descriptor: int, environ: Mapping[str, str]) -> bool:
    """Whether output to there should have colour."""
    plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") in {None, "", "dumb"}
    return not plain and os.isatty(descriptor)
