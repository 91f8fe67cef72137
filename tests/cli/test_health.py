"""`sqlqd health` and `sqlqd metrics` as scripts use them."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from tests.support.daemon import Daemon
from tests.support.exposition import parse
from tests.support.shell import Desk

QUEUE = '[queues.mail]\ncommand = "true"\n'


def test_no_daemon_is_not_well(desk: Desk) -> None:
    missing = desk.run("health")
    assert (missing.code, missing.err) == (1, "")
    assert missing.out.startswith("not well: ")
    desk.enqueue("mail")
    asleep = desk.run("health")
    assert (asleep.code, asleep.err) == (1, "")
    assert asleep.out.startswith("not well: no daemon is running, and 1 job is ready; ")
    assert len(asleep.out.splitlines()) == 1
    document = desk.run("health", "--json").json
    assert (document["well"], document["ready"], len(document["troubles"])) == (False, 1, 1)
    assert document["oldest_ready_seconds"] >= 0
    desk.config.write_text("[")
    broken = desk.run("health")
    assert (broken.code, broken.err, len(broken.out.splitlines())) == (1, "", 1)
    assert desk.run("health", "--max-dead", "-1").code == 2


def test_beside_a_daemon(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUE + '[queues.fails]\ncommand = "exit 1"\nmax_attempts = 1\n') as daemon:
        daemon.start()
        daemon.event("job.finished", job_id=daemon.insert("mail"))
        daemon.event("job.dead", job_id=daemon.insert("fails"))
        well = daemon.sqlqd("health", "--max-dead", "1", "--max-wait", "1h")
        assert (well.returncode, well.stdout) == (0, "ok: 0 ready, 0 scheduled, 0 running, 1 dead\n")
        ill = daemon.sqlqd("health", "--max-dead", "0")
        assert (ill.returncode, ill.stdout) == (1, "not well: 1 job is dead, more than 0\n")
        shown = daemon.sqlqd("metrics")
        assert shown.returncode == 0, shown.stderr
        told = parse(shown.stdout)
        assert told["sqlqd_up"][1] == {(): 1}
        assert told["sqlqd_workers"][1] == {(): 2}
        ended = told["sqlqd_jobs_finished_total"][1]
        assert ended[(("outcome", "done"), ("queue", "mail"))] == 1
        assert ended[(("outcome", "dead"), ("queue", "fails"))] == 1
        if shutil.which("promtool"):
            checked = subprocess.run(
                ["promtool", "check", "metrics"], input=shown.stdout, text=True, timeout=30, check=False
            )
            assert checked.returncode == 0


def test_the_file_is_replaced_at_one_stroke_and_for_everybody(desk: Desk) -> None:
    desk.enqueue("mail")
    folder = desk.directory / "textfile"
    folder.mkdir()
    target = folder / "sqlqd.prom"
    target.write_text("old")
    umask = os.umask(0o077)
    try:
        with target.open() as before:
            assert desk.good("metrics", "--output", str(target)).out == ""
            # Whoever reads the old one reads all of it.
            assert before.read() == "old"
    finally:
        os.umask(umask)
    assert parse(target.read_text())["sqlqd_up"][1] == {(): 0}
    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    # One that cannot be made leaves what there is, and nothing beside it.
    desk.database.write_text("this is no database")
    written = target.read_text()
    assert desk.run("metrics", "-o", str(target)).code != 0
    assert [path.name for path in folder.iterdir()] == ["sqlqd.prom"]
    assert target.read_text() == written


def test_a_folder_that_is_missing_is_named_with_what_to_do(desk: Desk) -> None:
    desk.enqueue("mail")
    refused = desk.run("metrics", "-o", str(desk.directory / "missing" / "sqlqd.prom"))
    assert (refused.code, f"{desk.directory / 'missing'} does not exist; make it first" in refused.err) == (
        1,
        True,
    )


@pytest.mark.parametrize("verb", ["health", "metrics"])
def test_it_leaves_the_database_as_it_was(desk: Desk, verb: str) -> None:
    desk.enqueue("mail")
    before = desk.database.read_bytes()
    desk.run(verb)
    assert desk.database.read_bytes() == before
