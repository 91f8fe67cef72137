"""Waiting for jobs to end, and reading what they wrote where there is no journal."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sqlqd.model import Bury, Cancel, Done, Verdict
from tests.support.shell import SQLQD, Desk


def ended(desk: Desk, how: Verdict) -> str:
    """A job that ended so."""
    desk.enqueue("mail")
    return desk.settle("mail", how)


def test_the_exit_status_says_whether_all_are_done(desk: Desk) -> None:
    done = ended(desk, Done())
    assert desk.run("wait", done).code == 0
    assert desk.run("wait", done[:8], done).out == ""
    dead = ended(desk, Bury("exit 7\nno route"))
    result = desk.run("wait", done, dead)
    assert (result.code, result.err) == (1, f"sqlqd: {dead} died: exit 7\n")
    cancelled = ended(desk, Cancel())
    assert f"{cancelled} was cancelled" in desk.run("wait", cancelled).err
    unknown = desk.run("wait", "f" * 32, done)
    assert (unknown.code, "no such job" in unknown.err) == (1, True)


def test_one_that_goes_on_is_given_up_after_a_time(desk: Desk) -> None:
    job = desk.enqueue("mail")
    result = desk.run("wait", job, "--timeout", "50ms")
    assert result.code == 124
    assert f"sqlqd why {job[:12]}" in result.err
    assert desk.run("enqueue", "mail", "--wait", "--timeout", "50ms").code == 124
    assert desk.run("enqueue", "mail", "--timeout", "1s").code == 2
    assert desk.run("enqueue", "mail", "--lines", "--wait").code == 2


def test_documents_tell_how_each_ended(desk: Desk) -> None:
    done, dead = ended(desk, Done()), ended(desk, Bury("exit 7"))
    result = desk.run("wait", "--json", "-", stdin=f"{done}\n{dead}\n".encode())
    documents = [json.loads(line) for line in result.out.splitlines()]
    assert [(one["id"], one["outcome"], one["reason"]) for one in documents] == [
        (done, "done", None),
        (dead, "dead", "exit 7"),
    ]


def test_it_comes_back_soon_after_the_end_also_without_a_record(desk: Desk) -> None:
    desk.config.write_text(desk.config.read_text() + '[queues.forgets]\ncommand = "cat"\nkeep_done = "0s"\n')
    job = desk.enqueue("forgets")
    with subprocess.Popen([SQLQD, "wait", job], env=desk.environment()) as waiting:
        # Long enough for it to have seen the job, or it would not know it.
        time.sleep(1.0)
        assert waiting.poll() is None
        desk.settle("forgets", Done())
        assert waiting.wait(20) == 0
    assert desk.run("show", job).code == 1
    assert desk.run("wait", job).code == 1


def test_without_a_journal_the_kept_tail_is_shown(desk: Desk, tmp_path: Path) -> None:
    dead = ended(desk, Bury("exit 7"))
    nothing = tmp_path / "bin"
    nothing.mkdir()
    env = desk.environment(PATH=os.fspath(nothing))
    result = desk.run("logs", dead, env=env)
    assert result.code == 0
    assert "exit 7" in result.out
    assert "journalctl cannot be started: no such file" in result.err
    assert desk.run("logs", "f" * 32, env=env).code == 1


JOURNALCTL = """#!{python}
import json, sys
from pathlib import Path
assert sys.argv[-1] == "SQLQD_JOB_ID={job}", sys.argv
if not any(word.startswith("--after-cursor") for word in sys.argv):
    for number, message in enumerate(["mail started", [104, 255], "mail done"]):
        print(json.dumps({{"__REALTIME_TIMESTAMP": "1800000000000000", "__CURSOR": f"c{{number}}",
            "MESSAGE": message, "SQLQD_EVENT": "job.output", "SQLQD_JOB_ID": "{job}"}}))
"""


@pytest.mark.parametrize("follow", [(), ("--follow",)])
def test_the_journals_records_are_shown_and_followed_to_the_end(
    desk: Desk, tmp_path: Path, follow: tuple[str, ...]
) -> None:
    job = ended(desk, Done())
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "journalctl").write_text(JOURNALCTL.format(python=sys.executable, job=job))
    (folder / "journalctl").chmod(0o755)
    env = desk.environment(PATH=os.fspath(folder))
    result = desk.run("logs", *follow, job[:8], env=env)
    assert result.code == 0
    assert [line.split("  ", 1)[1] for line in result.out.splitlines()] == [
        "mail started",
        "h\N{REPLACEMENT CHARACTER}",
        "mail done",
    ]
    document = json.loads(desk.run("logs", *follow, "--json", job, env=env).out.splitlines()[0])
    assert (document["event"], document["job_id"], document["message"]) == ("job.output", job, "mail started")
