"""The options of `enqueue` and `run`, and those by which all find the configuration, each declared once.

click makes its own of them, and so does the short way.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from sqlqd import newjob
from sqlqd.cli import readers

Reader = Callable[[str], Any]
"""Gives the value of an option or argument, or raises ValueError."""


class Option(NamedTuple):
    """One option as people give it."""

    name: str
    help: str
    read: Reader | None = None
    """None: it takes no value."""
    metavar: str | None = None
    letter: str | None = None
    parameter: str = ""
    """What the verb knows it by, where that is not its name."""
    default: Any = None

    @property
    def names(self) -> list[str]:
        """As they stand on a command line."""
        return [*([f"-{self.letter}"] if self.letter else []), f"--{self.name}"]

    @property
    def variable(self) -> str:
        """The parameter that gets its value."""
        return self.parameter or self.name.replace("-", "_")

    @property
    def unsaid(self) -> Any:
        """Its value where it is not given."""
        return self.default if self.read else False


YES = "yes"
"""What a choice of the configuration that takes no value is known by."""

WHERE = (
    Option(
        "config",
        "The configuration; else $SQLQD_CONFIG, else as follows.",
        str,
        metavar="FILE",
        letter="c",
    ),
    Option("user", "That of the user service: ~/.config/sqlqd/sqlqd.toml."),
    Option(
        "instance",
        "That of sqlqd@NAME.service; else /etc/sqlqd/sqlqd.toml.",
        str,
        metavar="NAME",
        letter="i",
    ),
)

RUN = (Option("paused", "Start no job until `sqlqd resume --all`."),)

ENQUEUE = (
    Option("delay", 'Not before this long from now: 90, "1h 30min".', readers.duration, metavar="DUR"),
    Option(
        "at",
        "Not before this moment; local time unless it has a zone.",
        readers.moment,
        metavar="ISO8601",
    ),
    Option(
        "priority",
        "-100 to 100, higher first; 0 unless given.",
        readers.Whole(newjob.PRIORITIES[0], newjob.PRIORITIES[-1]),
        metavar="N",
        default=0,
    ),
    Option(
        "key",
        "At most one live job of the queue has this key; it is told.",
        readers.text,
        metavar="KEY",
    ),
    Option(
        "on-conflict",
        "Where a live job has the key: keep it (default), replace what it is, next: one more after "
        "it, or error.",
        readers.Word(*(one.value for one in newjob.Conflict)),
    ),
    Option("max-attempts", "Instead of the queue's.", readers.Whole(1, 1_000_000), metavar="N"),
    Option(
        "expires",
        "Not started after so long; then it is dead.",
        readers.duration,
        metavar="DUR",
    ),
    Option("any-queue", "Also a queue that is not configured: the job waits."),
    Option("lines", "One job for each line of standard input; of an empty line, one with an empty payload."),
    Option("atomic", "With --lines: all of them in one transaction, or none."),
    Option("wait", "Then wait until it has ended, and exit as `sqlqd wait` does."),
    Option("timeout", "With --wait: else exit 124.", readers.duration, metavar="DUR"),
    Option("json", 'Print {"id": …, "created": …}.', parameter="as_json"),
)
