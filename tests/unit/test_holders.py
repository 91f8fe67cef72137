"""Who has a database open and keeps its locks, and where it is: against real files, locks and mounts."""

import os
from pathlib import Path

import pytest

from sqlqd import holders, mounts
from sqlqd.clock import SystemClock
from sqlqd.examine.storage import Mount, Process
from tests.support.sql import holding, python

WATCHED = """
import os, sys
from pathlib import Path
from sqlqd import holders, mounts
from sqlqd.clock import SystemClock
database, opened = Path(sys.argv[1]), []
sys.addaudithook(lambda name, args: opened.append(str(args[0])) if name == "open" else None)
assert holders.keeping(database, SystemClock()).readers
assert holders.opened(database).holders
mounts.mount_of(database), mounts.room_at(database.parent)
assert "/proc/locks" in opened
assert not [path for path in opened if path.startswith(str(database))], opened
"""

MOUNTS = r"""22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
30 22 0:40 / /srv rw - nfs4 server:/export rw
31 30 0:41 / /srv/with\040space rw master:3 shared:9 - fuse.sshfs you@there:/ rw
32 22 0:42 / /srv rw - xfs /dev/vdb rw
broken line
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    python(
        "import sys; from pathlib import Path; from sqlqd.store.sqlite import open_store;"
        "from sqlqd.clock import SystemClock; from sqlqd.model import NewJob;"
        "store = open_store(Path(sys.argv[1]), SystemClock(), create=True);"
        "store.enqueue([NewJob('mail')]); store.close()",
        str(tmp_path / "queue.db"),
    )
    return tmp_path / "queue.db"


def pids(found: tuple[Process, ...]) -> list[int]:
    return [one.pid for one in found]


def keeping(database: Path) -> tuple[list[int], list[int]]:
    kept = holders.keeping(database, SystemClock())
    assert kept is not None
    return pids(kept.readers), pids(kept.writers)


def test_who_keeps_a_view_or_the_lock_is_named(database: Path) -> None:
    assert keeping(database) == ([], [])
    with holding(database, "SELECT 1") as idle:
        assert keeping(database) == ([], [])
        assert pids(holders.opened(database).holders) == [idle]
        with holding(database, "BEGIN", "SELECT count(*) FROM jobs") as reader:
            assert keeping(database) == ([reader], [])
            with holding(database, "BEGIN IMMEDIATE", "DELETE FROM jobs") as writer:
                readers, writers = keeping(database)
                assert (reader in readers, writers) == (True, [writer])
            assert idle not in readers


def test_who_has_a_file_open_that_is_gone_is_named(database: Path, tmp_path: Path) -> None:
    with holding(database, "SELECT count(*) FROM jobs") as pid:
        found = holders.opened(database)
        assert (pids(found.holders), pids(found.removed)) == ([pid], [])
        link = tmp_path / "link.db"
        link.symlink_to(database)
        assert pids(holders.opened(link).holders) == [pid]
        for end in ("", "-wal", "-shm"):
            Path(f"{database}{end}").unlink()
        assert pids(holders.opened(database).removed) == [pid]


def test_looking_opens_no_file_of_the_database(database: Path) -> None:
    with holding(database, "BEGIN", "SELECT count(*) FROM jobs"):
        python(WATCHED, str(database))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody who may not look")
def test_who_cannot_be_looked_at_is_counted() -> None:
    python(
        "import os; from pathlib import Path; from sqlqd import holders;"
        "os.setresuid(65534, 65534, 65534); assert holders.opened(Path('/nowhere')).unseen > 0"
    )


def test_locks_are_read_as_the_kernel_writes_them() -> None:
    text = (
        "1: POSIX  ADVISORY  READ 4242 fe:01:77 124 124\n"
        "1: -> POSIX  ADVISORY  WRITE 4243 fe:01:77 124 124\n"
        "2: FLOCK  ADVISORY  WRITE 1 00:18:5 0 EOF\n"
        "3: OFDLCK ADVISORY  WRITE -1 fe:01:78 0 EOF\n"
        "odd\n"
    )
    first, second = holders.locks(text)
    assert first == holders.Lock(4242, 77, writes=False, first=124, last=124)
    assert (second.pid, second.last > 10**12) == (-1, True)
    assert first.covers(range(123, 128))
    # Everybody's, for as long as the file is open.
    assert not holders.Lock(1, 77, writes=False, first=128, last=128).covers(range(123, 128))


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/home/ada/queue.db", Mount("ext4", "/")),
        ("/srv/queue.db", Mount("xfs", "/srv")),
        ("/srv2/queue.db", Mount("ext4", "/")),
        ("/srv/with space/queue.db", Mount("fuse.sshfs", "/srv/with space")),
    ],
)
def test_a_path_is_on_the_mount_nearest_to_it(path: str, found: Mount) -> None:
    assert mounts.located(MOUNTS, Path(path)) == found


def test_the_mount_of_a_real_path(tmp_path: Path) -> None:
    found = mounts.mount_of(tmp_path)
    assert found is not None
    assert tmp_path.is_relative_to(found.point)
    assert mounts.mount_of(Path("/proc/self")) == Mount("proc", "/proc")
    assert mounts.room_at(tmp_path).total >= mounts.room_at(tmp_path).free > 0
