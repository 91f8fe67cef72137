"""How much waits, told without the database by the notes of producers and the journal of executions."""

from pathlib import Path

from tests.chaos.ground import Ground


class Tail:
    """The whole lines that a growing file has got since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._rest = b""

    def lines(self) -> list[bytes]:
        """Those that are new."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                text = file.read()
        except FileNotFoundError:
            return []
        self._at += len(text)
        *lines, self._rest = (self._rest + text).split(b"\n")
        return lines


class Backlog:
    """Jobs that were acknowledged and have not begun."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._notes: dict[Path, Tail] = {}
        self._journal = Tail(ground.journal)
        self._waiting: set[bytes] = set()
        self._begun: set[bytes] = set()

    def count(self) -> int:
        """How many there are now."""
        self._begun.update(line.split()[1] for line in self._journal.lines())
        for path in self._ground.home.glob("acknowledged-*"):
            lines = self._notes.setdefault(path, Tail(path)).lines()
            self._waiting.update(line.split()[0] for line in lines)
        self._waiting -= self._begun
        return len(self._waiting)
