"""What every verb starts from: the configuration that was asked for, and the database that it names."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlqd.config import Config
    from sqlqd.store.base import Store
    from sqlqd.store.entry import Entry


_NAMED = 8
"""Queues that a message lists."""


class Session:
    """One invocation. Modules are loaded when a verb first asks for what they bring."""

    def __init__(self) -> None:
        """`chosen`: what was said of where the configuration is, by option."""
        self.chosen: dict[str, str] = {}
        self._config: Config | None = None
        self.knows = False
        """Whether whoever asks was told which configuration counts, or is not to be."""

    def choose(self, option: str, value: str) -> None:
        """Take --config, --instance or --user with its value; behind the verb it wins over before.

        ValueError where it contradicts another, or cannot be.
        """
        for other in self.chosen.keys() - {option}:
            raise ValueError(f"{other} and {option} name different configurations: give one of them")
        if option == "--instance":
            from sqlqd.config.places import of_instance  # noqa: PLC0415 - rare

            of_instance(value)
        self.chosen[option] = value

    @property
    def explicit(self) -> str | None:
        """The path that --config named, if it did."""
        return self.chosen.get("--config")

    @property
    def instance(self) -> str | None:
        """The NAME that --instance gave, if it did."""
        return self.chosen.get("--instance")

    @property
    def user(self) -> bool:
        """Whether it is to be the user service's."""
        return "--user" in self.chosen

    @property
    def config(self) -> "Config":
        """The configuration, read once. Raises ConfigError."""
        if self._config is None:
            self._config = self.load(lambda _: None)
        return self._config

    def _say_what_wins(self) -> None:
        """Where an option names a configuration and the environment another, which one is used: once."""
        from sqlqd.config.places import ENVIRONMENT  # noqa: PLC0415 - as in `load`

        named = None if self.explicit else os.environ.get(ENVIRONMENT)
        if self.knows or not named or not self.chosen:
            return
        self.knows = True
        from sqlqd.cli.failure import tell  # noqa: PLC0415 - rare

        (option,) = self.chosen
        tell(
            f"{option} does not count, since ${ENVIRONMENT} is set: this is of {named}; -c FILE comes before"
        )

    def load(self, users: Callable[[str], str | None]) -> "Config":
        """The configuration, read anew; `users` says what speaks against whom commands are to run as."""
        from sqlqd import config  # noqa: PLC0415 - not every verb has one

        self._say_what_wins()
        at = config.locate(self.explicit, os.environ, user=self.user, instance=self.instance)
        return config.load(at, users=users)

    @contextmanager
    def entry(self) -> Iterator["Entry"]:
        """The open database, for adding alone; made where there is none. Raises StoreError."""
        from sqlqd.clock import SystemClock  # noqa: PLC0415 - not every verb opens it
        from sqlqd.store.entry import Entry  # noqa: PLC0415
        from sqlqd.store.failures import StoreError  # noqa: PLC0415

        daemon = self.config.daemon
        entry = Entry(daemon.database, SystemClock(), busy_timeout=daemon.busy_timeout)
        try:
            yield entry
        finally:
            # As in `store`.
            with suppress(StoreError, OSError):
                entry.close()

    @contextmanager
    def store(self, *, create: bool = False) -> Iterator["Store"]:
        """The open database; `create`: made where there is none. Raises StoreError."""
        from sqlqd.clock import SystemClock  # noqa: PLC0415 - not every verb opens it
        from sqlqd.store.base import StoreError  # noqa: PLC0415
        from sqlqd.store.sqlite import open_store  # noqa: PLC0415

        daemon = self.config.daemon
        store = open_store(daemon.database, SystemClock(), busy_timeout=daemon.busy_timeout, create=create)
        try:
            yield store
        finally:
            # All that was to be kept is committed: a close that fails must not say otherwise.
            with suppress(StoreError, OSError):
                store.close()


def unknown(name: str, configured: Iterable[str], what: str = "queue") -> str:
    """What to tell a person who named a queue, or something else of the configuration, that is not in it."""
    from sqlqd.config.tables import meant  # noqa: PLC0415 - only those who err pay for it

    names = list(configured)
    hint = meant(name, names)
    if not hint and names:
        hint = f" (there are: {', '.join(names[:_NAMED])}{', …' if len(names) > _NAMED else ''})"
    return f"no {what} {name!r} is configured{hint}"
