"""The disk is full, read-only or gone: said in one line, nothing half-written, and work goes on."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlqd import exits
from tests.support.daemon import SQLQD, Daemon, until

QUEUES = """
[queues.noop]
command = ":"
lease = "4s"
[queues.gated]
command = "echo ran >> ran; until [ -e go ]; do sleep 0.02; done"
cwd = ".."
lease = "2s"
"""


def system(*command: str) -> bool:
    """Whether a command of the system's could be done."""
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


class Disk:
    """A small file system of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._balloon = folder / "balloon"

    def fill(self) -> None:
        """To the last block."""
        system("dd", "if=/dev/zero", f"of={self._balloon}", "bs=4k")

    def empty(self) -> None:
        """There is room again."""
        self._balloon.unlink()

    def seal(self) -> bool:
        """Nothing can be written."""
        return system("mount", "-o", "remount,ro", str(self.folder))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    if not system("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)):
        pytest.skip("this user may not mount a file system")
    yield Disk(folder)
    system("umount", "--lazy", str(folder))


@pytest.fixture
def daemon(disk: Disk) -> Iterator[Daemon]:
    """With its database on that disk, and the configuration beside it."""
    home = disk.folder.parent / "home"
    home.mkdir()
    with Daemon(home, QUEUES) as made:
        made.config.write_text(made.config.read_text().replace("queue.db", str(disk.folder / "queue.db")))
        made.database = disk.folder / "queue.db"
        yield made


def refused(daemon: Daemon, status: int, *words: str) -> None:
    """What `enqueue` says is one line, and clear."""
    done = daemon.sqlqd("enqueue", "noop")
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"sqlqd: {daemon.database}")
    assert all(word in done.stderr for word in words), done.stderr


def test_enqueue_on_a_full_disk_makes_nothing_half(daemon: Daemon, disk: Disk) -> None:
    disk.fill()
    refused(daemon, exits.IO, "the disk is full", "make room")
    disk.empty()
    assert daemon.sqlqd("enqueue", "noop").returncode == exits.OK
    disk.fill()
    refused(daemon, exits.IO, "the disk is full", "make room")
    disk.empty()
    assert daemon.sql("SELECT count(*) FROM jobs") == "1"
    assert daemon.sql("PRAGMA integrity_check") == "ok"
    assert daemon.sqlqd("enqueue", "noop").returncode == exits.OK


def test_a_daemon_does_not_start_on_a_full_disk_and_says_why(daemon: Daemon, disk: Disk) -> None:
    disk.fill()
    daemon.start(ready=False)
    assert daemon.ended() == exits.IO
    assert "the disk is full" in daemon.log
    disk.empty()
    daemon.start()
    daemon.event("job.finished", job_id=daemon.insert("noop"))


def test_a_daemon_waits_for_room_and_runs_nothing_twice(daemon: Daemon, disk: Disk) -> None:
    daemon.start()
    daemon.sql("INSERT INTO jobs (queue, payload) VALUES ('nobody', hex(randomblob(200000)))")
    job = daemon.insert("gated")
    daemon.event("job.started", job_id=job)
    disk.fill()
    refused(daemon, exits.IO, "the disk is full")
    (daemon.home.parent / "go").touch()
    said = daemon.event("store.waiting")
    assert "the disk is full" in said["reason"]
    disk.empty()
    daemon.event("store.back")
    daemon.event("job.finished", job_id=job)
    assert (daemon.home.parent / "ran").read_text() == "ran\n"
    assert daemon.events("worker.crashed") == daemon.events("steward.crashed") == []
    daemon.event("job.finished", job_id=daemon.insert("noop"))
    assert daemon.sql("PRAGMA integrity_check") == "ok"


def test_a_full_disk_is_what_every_verb_tells_of(daemon: Daemon, disk: Disk) -> None:
    daemon.start()
    daemon.sqlqd("pause", "noop")
    job = daemon.insert("noop")
    assert daemon.sqlqd("health").returncode == exits.OK
    disk.fill()
    health = daemon.sqlqd("health")
    assert health.returncode == exits.FAILED
    assert health.stdout.startswith("not well: the database's disk is full")
    status = json.loads(daemon.sqlqd("status", "--json").stdout)["daemon"]
    assert not status["well"]
    assert "make room" in status["troubles"][0]
    assert json.loads(daemon.sqlqd("why", job, "--json").stdout)["reason"] == "disk_full"
    disk.empty()
    assert daemon.sqlqd("health").returncode == exits.OK
    assert json.loads(daemon.sqlqd("why", job, "--json").stdout)["reason"] == "paused"


def test_a_read_only_disk_is_named(daemon: Daemon, disk: Disk) -> None:
    assert daemon.sqlqd("enqueue", "noop").returncode == exits.OK
    if not disk.seal():
        pytest.skip("this user may not mount a file system again")
    refused(daemon, exits.IO, "mounted read-only")
    for verb in ("status", "list"):
        done = daemon.sqlqd(verb)
        assert done.returncode == exits.IO
        assert "mounted read-only" in done.stderr
    daemon.start(ready=False)
    assert daemon.ended() == exits.IO
    assert "mounted read-only" in daemon.log


def test_a_directory_that_goes_and_comes_back(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    folder.mkdir()
    with Daemon(tmp_path, QUEUES) as daemon:
        daemon.config.write_text(daemon.config.read_text().replace('"queue.db"', '"data/queue.db"'))
        daemon.database = folder / "queue.db"
        daemon.start()
        daemon.event("job.finished", job_id=daemon.insert("noop"))
        folder.rename(elsewhere)
        assert "does not exist" in daemon.event("store.waiting")["reason"]
        done = daemon.sqlqd("enqueue", "noop")
        assert (done.returncode, done.stdout) == (exits.FAILED, "")
        assert f"the directory {folder} does not exist" in done.stderr
        elsewhere.rename(folder)
        daemon.event("store.back")
        until(lambda: daemon.sqlqd("status").returncode == exits.OK, "it is there again")
        daemon.event("job.finished", job_id=daemon.insert("noop"))
        assert daemon.events("database.replaced") == []
        waits = len(daemon.events("store.waiting"))
        shutil.rmtree(folder)
        until(lambda: len(daemon.events("store.waiting")) > waits, "it is gone again")
        folder.mkdir()
        job = daemon.sqlqd("enqueue", "noop").stdout.strip()
        daemon.event("job.finished", job_id=job)
        daemon.event("database.replaced")
        assert daemon.stop() == exits.OK
        assert daemon.sql("PRAGMA integrity_check") == "ok"


STRANGER = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")


@pytest.mark.skipif(
    not system(*STRANGER, *SQLQD, "--version"), reason="this user cannot run sqlqd as another one"
)
def test_somebody_elses_file_asks_for_permission() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        daemon = Daemon(Path(folder), QUEUES)
        assert daemon.sqlqd("enqueue", "noop").returncode == exits.OK
        for verb in (("enqueue", "noop"), ("status",), ("run",)):
            done = subprocess.run(
                [*STRANGER, *SQLQD, "-c", str(daemon.config), *verb],
                capture_output=True,
                text=True,
                check=False,
                timeout=20,
            )
            assert (done.returncode, done.stdout) == (exits.DENIED, ""), verb
            assert "no permission to read and write" in done.stderr
            assert "run this as root" in done.stderr
