"""Where a run under chaos takes place: its folder, a small disk for the database, and a clock to step."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.chaos import stepped

DISK = 192 << 20
"""Bytes. Room for all that a run adds, and for a log that nobody copies back while no steward works."""

SOURCES = Path(__file__).parents[2]


class Ground:
    """A folder. All but the database is on another file system than the disk that fills."""

    def __init__(self, home: Path) -> None:
        """Nothing is made yet."""
        self.home = home
        self.mark = f"CHAOS_HOME={home}"
        """In the environment of all that runs here."""
        self.journal = home / "journal"
        self.clock = home / "clock"
        self.hold = home / "hold"
        """While this is there, producers pause."""
        self.rolled_back = home / "rolled-back"
        self._disk = home / "disk"
        self.database = self._disk / "queue.db"
        self._balloon = self._disk / "balloon"
        self.sometimes = home / "sometimes"
        self.is_small = False
        """Whether the database has a disk of its own."""

    def make(self) -> None:
        """Lay it out."""
        for folder in (self._disk, self.home / "locks", self.home / "places"):
            folder.mkdir()
        self.journal.touch()
        self.rolled_back.touch()
        self.step_clock(0.0)
        self.show_command()
        self.is_small = _mount(self._disk)

    @property
    def environ(self) -> dict[str, str]:
        """What everybody here is started with."""
        return {
            **os.environ,
            "CHAOS_HOME": str(self.home),
            "CHAOS_CLOCK": str(self.clock),
            "PYTHONPATH": str(SOURCES),
        }

    def step_clock(self, offset: float) -> None:
        """Set the wall clock to so many seconds from the true one."""
        stepped.set_offset(self.clock, offset)

    def show_command(self) -> None:
        """The program that is sometimes missing is there."""
        if not self.sometimes.is_symlink():
            self.sometimes.symlink_to(sys.executable)

    def hide_command(self) -> None:
        """It is missing."""
        self.sometimes.unlink(missing_ok=True)

    def fill_disk(self) -> None:
        """To the last block."""
        disk = os.statvfs(self._disk)
        with self._balloon.open("ab") as balloon:
            while disk.f_bavail:
                try:
                    os.posix_fallocate(balloon.fileno(), balloon.tell(), disk.f_bavail * disk.f_frsize)
                except OSError:
                    # Others write too: less than was free a moment ago.
                    balloon.write(b"\0" * disk.f_frsize)
                balloon.seek(0, os.SEEK_END)
                disk = os.statvfs(self._disk)

    def empty_disk(self) -> None:
        """There is room again."""
        self._balloon.unlink(missing_ok=True)

    def log_size(self) -> int:
        """Bytes of the database's write-ahead log."""
        try:
            return self.database.with_name("queue.db-wal").stat().st_size
        except FileNotFoundError:
            return 0

    def keep_evidence(self) -> None:
        """Copy the database to where it outlives the disk."""
        self.empty_disk()
        if self.is_small:
            shutil.copytree(self._disk, self.home / "evidence")

    def clear(self) -> None:
        """Take everything away."""
        if self.is_small:
            subprocess.run(["umount", "--lazy", str(self._disk)], check=True)
        shutil.rmtree(self.home)


def _mount(folder: Path) -> bool:
    words = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    return os.environ.get(_PRIVATE) == "1" and subprocess.run(words, check=False).returncode == 0


_PRIVATE = "CHAOS_PRIVATE_MOUNTS"


def go_private(words: list[str]) -> None:
    """Start this program again in a mount namespace of its own; where that is not allowed go on as it is."""
    wrapped = ["unshare", "--mount", "--propagation", "private"]
    if _PRIVATE in os.environ or shutil.which("unshare") is None:
        return
    if subprocess.run([*wrapped, "true"], check=False, capture_output=True).returncode == 0:
        os.environ[_PRIVATE] = "1"
        os.execvp(wrapped[0], [*wrapped, sys.executable, *words])
