"""A daemon in a container whose monotonic clock is moved measures leases as all others on the machine do."""

import subprocess
from pathlib import Path

import pytest

from tests.support.daemon import SQLQD, Daemon, until

MOVED = ("unshare", "--user", "--map-root-user", "--time", "--fork", "--kill-child", "--monotonic")
QUEUES = """
[queues.long]
command = "echo $SQLQD_ATTEMPT >> runs; sleep 4"
cwd = "."
lease = "30s"
max_crashes = 1
"""


def possible() -> bool:
    try:
        return subprocess.run([*MOVED, "1000", "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not possible(), reason="needs the right to make a time namespace")
@pytest.mark.parametrize("offset", ["100000", "-50"])
def test_its_leases_and_those_of_others_hold(tmp_path: Path, offset: str) -> None:
    home = tmp_path / "moved"
    home.mkdir()
    run = (*SQLQD, "-c", str(home / "sqlqd.toml"), "run")
    command = (*MOVED, offset, *run)
    with (
        Daemon(tmp_path, QUEUES, workers=1) as usual,
        Daemon(home, QUEUES, workers=1, command=command) as moved,
    ):
        moved.config.write_text(moved.config.read_text().replace('"queue.db"', f'"{usual.database}"'))
        usual.start()
        moved.start()
        jobs = [usual.insert("long") for _ in range(2)]
        both = [usual, moved]
        started = until(
            lambda: len(found := [r for d in both for r in d.events("job.started")]) == 2 and found,
            "one runs in each",
        )
        assert {record["job_id"] for record in started} == set(jobs)
        until(lambda: usual.sql("SELECT count(*) FROM jobs") == "0", "both are done")
        assert usual.sql("SELECT max(attempts), count(*) FROM done_jobs") == "1|2"
        assert not [r for d in both for r in d.events() if r["event"] in ("job.lost", "worker.stuck")]
