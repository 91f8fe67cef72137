"""A backup that is made under load, restored, and run to its end."""

import json
from pathlib import Path

from tests.support.daemon import Daemon, until

QUEUES = """
[defaults]
timeout = "1h"
kill_grace = "1s"
[queues.note]
command = "sleep 0.02; echo $SQLQD_PAYLOAD >> done"
cwd = "."
[queues.slow]
command = "echo started $SQLQD_ATTEMPT >> slow; test -e {restored} || sleep 600"
cwd = "."
concurrency = 1
"""


def test_what_is_copied_under_load_is_whole_and_runs_to_its_end(tmp_path: Path) -> None:
    old, new, copy = tmp_path / "old", tmp_path / "new", tmp_path / "copy.db"
    for home in (old, new):
        home.mkdir()
    queues = QUEUES.replace("{restored}", str(new / "queue.db"))
    with Daemon(old, queues, workers=3, daemon='drain_timeout = "0.1s"') as daemon:
        daemon.start()
        slow = daemon.insert("slow")
        daemon.event("job.started", job_id=slow)
        daemon.sql(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) "
            "INSERT INTO jobs (queue, payload) SELECT 'note', i FROM n"
        )
        until(lambda: len(daemon.events("job.finished")) > 5, "jobs are being done")
        done = daemon.sqlqd("backup", str(copy))
        assert (done.returncode, done.stderr) == (0, "")
        assert f"copied {daemon.database} to {copy} (" in done.stdout
        refused = daemon.sqlqd("backup", str(copy))
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "already there" in refused.stderr
        assert daemon.running
        assert daemon.stop() == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "new", "old"]
    copy.rename(new / "queue.db")
    with Daemon(new, queues, workers=3) as daemon:
        assert daemon.sql("PRAGMA integrity_check") == "ok"
        waiting = int(daemon.sql("SELECT count(*) FROM jobs WHERE queue = 'note'"))
        assert 0 < waiting < 200
        assert daemon.sqlqd("pause", "--all").returncode == 0
        daemon.start()
        shown = json.loads(daemon.sqlqd("status", "--json").stdout)
        (note,) = [queue for queue in shown["queues"] if queue["name"] == "note"]
        assert (note["ready"] + note["running"], note["paused"]) == (waiting, True)
        assert daemon.sqlqd("resume", "--all").returncode == 0
        until(lambda: daemon.sql("SELECT count(*) FROM jobs") == "0", "all that was left is done")
        assert daemon.sql("SELECT count(*) FROM dead_jobs") == "0"
        redone = (new / "done").read_text().split()
        before = daemon.sql("SELECT count(*) FROM done_jobs WHERE queue = 'note'")
        assert (len(redone), len(set(redone)), before) == (waiting, waiting, "200")
        # What ran when the copy was made: another attempt, and no crash.
        assert (new / "slow").read_text() == "started 2\n"
        assert daemon.sql(f"SELECT attempts FROM done_jobs WHERE id = '{slow}'") == "2"
        assert daemon.sql("SELECT coalesce(sum(n), 0) FROM sqlqd_counters WHERE outcome = 'lost'") == "0"
