"""The demo, as a newcomer starts it: on names that break what is careless, and stopped half-way."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.chaos import processes

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "scripts" / "demo"

NAMES = [
    *(b"plain.txt", b"with space", b"new\nline", b"quo\"te's", b"-dash", b"--lines", b"back\\slash", b"*"),
    *(b"\xff\xfe", "\u00fc\u2713".encode(), b"\x1b[31mred", b"trailing ", b"$(touch pwned)", b"x" * 240),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / os.fsdecode(b"odd \xff folder")
    (folder / "below").mkdir(parents=True)
    for name in NAMES:
        for place in (folder, folder / "below"):
            (place / os.fsdecode(name)).write_bytes(name * 1000)
    os.mkfifo(folder / "fifo")
    (folder / "link").symlink_to("/etc/passwd")
    return folder


def environ(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(tmp_path), "DEMO_MARK": str(tmp_path)}


def test_every_job_of_an_odd_folder_ends_as_it_should(tmp_path: Path, folder: Path) -> None:
    done = subprocess.run(
        [DEMO, folder.name],
        cwd=tmp_path,
        env=environ(tmp_path),
        capture_output=True,
        timeout=55.0,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    (results,) = tmp_path.glob("sqlqd-demo.*/results")
    assert len(list(results.rglob("*.gz"))) == len(list(results.rglob("*.sha256"))) == 2 * len(NAMES)
    assert b"All ended as it should" in done.stdout
    assert processes.marked(f"DEMO_MARK={tmp_path}") == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_demo_that_is_stopped_leaves_nothing_running(tmp_path: Path, number: int) -> None:
    with subprocess.Popen([DEMO, ROOT], env=environ(tmp_path), stderr=subprocess.PIPE) as demo:
        assert demo.stderr is not None
        for line in demo.stderr:
            if b"compress" in line and b"started" in line:
                break
        demo.send_signal(number)
        demo.stderr.read()
        assert demo.wait(40.0) == 128 + number
    assert processes.marked(f"DEMO_MARK={tmp_path}") == []


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    done = subprocess.run([DEMO, tmp_path / "nowhere"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("is not a folder\n")
