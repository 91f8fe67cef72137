"""What is wrong with an installation, or soon will be: findings over plain values, with what to do. Pure."""

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    """How bad it is."""

    PROBLEM = "problem"
    """Jobs do not run, or something will be lost: to be mended."""
    NOTE = "note"
    """Worth knowing; may be meant."""
    UNSEEN = "not examined"
    """Whoever asks cannot see it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that somebody should know."""

    severity: Severity
    about: str
    """What was looked at: one word, for programs."""
    text: str
    remedy: str

    @property
    def sentence(self) -> str:
        """What it is and what to do."""
        return f"{self.text}; {self.remedy}"


def problem(about: str, text: str, remedy: str) -> Finding:
    """To be mended."""
    return Finding(Severity.PROBLEM, about, text, remedy)


def note(about: str, text: str, remedy: str) -> Finding:
    """Worth knowing."""
    return Finding(Severity.NOTE, about, text, remedy)


def unseen(about: str, text: str, remedy: str) -> Finding:
    """Not looked at."""
    return Finding(Severity.UNSEEN, about, text, remedy)
