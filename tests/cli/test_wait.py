"""Waiting for jobs to end, and reading what they wrote where there is no journal."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from sqlqd.cli.wait import await_jobs
from sqlqd.identity import open_files
from sqlqd.model import Bury, Cancel, Done, NewJob, Retry, Selection, Verdict
from tests.support.daemon import until
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


def test_who_waits_without_a_daemon_is_told_so_once(desk: Desk) -> None:
    job = desk.enqueue("mail")
    for words in (("wait", job), ("enqueue", "mail", "--wait")):
        result = desk.run(*words, "--timeout", "1s")
        assert result.code == 124
        assert result.err.count("no daemon is running") == 1
        assert "run -c" in result.err


def test_documents_tell_how_each_ended(desk: Desk) -> None:
    done, dead = ended(desk, Done()), ended(desk, Bury("exit 7"))
    result = desk.run("wait", "--json", "-", stdin=f"{done}\n{dead}\n".encode())
    documents = [json.loads(line) for line in result.out.splitlines()]
    assert [(one["id"], one["outcome"], one["reason"]) for one in documents] == [
        (done, "done", None),
        (dead, "dead", "exit 7"),
    ]


@pytest.fixture
def forgetful(desk: Desk) -> Desk:
    """With a queue that keeps no records of what is done."""
    more = '[queues.forgets]\ncommand = "cat"\nkeep_done = "0s"\n'
    desk.config.write_text(desk.config.read_text() + more)
    return desk


@contextmanager
def waiting(desk: Desk, *words: str) -> Iterator[subprocess.Popen[str]]:
    """One that has the database open, and waits."""
    line = [SQLQD, *words]
    with subprocess.Popen(
        line, env=desk.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            until(lambda: process.poll() is not None or has_open(process.pid, "queue.db-shm"), "it waits")
            assert process.poll() is None
            yield process
        finally:
            process.kill()


def has_open(pid: int, name: str) -> bool:
    """Whether a process has a file of that name open."""
    return any(link.readlink().name == name for link, _ in open_files(pid))


def test_it_comes_back_soon_after_the_end(desk: Desk) -> None:
    job = desk.enqueue("mail")
    with waiting(desk, "wait", job) as process:
        desk.settle("mail", Done())
        assert process.wait(20) == 0


def test_one_that_was_there_and_left_no_record_is_done(forgetful: Desk) -> None:
    job = forgetful.enqueue("forgets")
    forgetful.settle("forgets", Done())
    with closing(forgetful.store()) as store:
        assert await_jobs(store, [job], timeout=0, as_json=False) == 0
    result = forgetful.run("wait", job)
    assert (result.code, "no such job" in result.err) == (1, True)


def test_one_that_was_cancelled_never_passes_for_done(forgetful: Desk) -> None:
    forgetful.enqueue("forgets")
    job = forgetful.settle("forgets", Cancel())
    with closing(forgetful.store()) as store:
        assert await_jobs(store, [job], timeout=0, as_json=False) == 1


def test_the_id_is_printed_before_the_wait_and_ctrl_c_ends_that(desk: Desk) -> None:
    with waiting(desk, "enqueue", "mail", "--wait") as process:
        assert process.stdout is not None
        job = process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    assert [one["id"] for one in desk.jobs()] == [job]


def test_one_whose_database_was_put_aside_gives_up(desk: Desk) -> None:
    job = desk.enqueue("mail")
    with waiting(desk, "wait", job) as process:
        other = desk.directory / "other.db"
        other.touch()
        other.rename(desk.database)
        assert process.wait(20) == 1
        assert "is no longer the file that was opened" in process.communicate()[1]


def test_thousands_are_waited_for_with_little_work(desk: Desk) -> None:
    with closing(desk.store()) as store:
        jobs = [added.id for added in store.enqueue([NewJob("mail")] * 3000)]

        def spent(waited_for: list[str]) -> float:
            before = time.process_time()
            assert await_jobs(store, waited_for, timeout=1.0, as_json=False) == 124
            return time.process_time() - before

        few, many = spent(jobs[:30]), spent(jobs)
        assert many < 50 * few
        store.cancel(Selection(queue="mail"))
        assert await_jobs(store, jobs, timeout=30.0, as_json=False) == 1


@pytest.fixture
def without_journal(desk: Desk, tmp_path: Path) -> dict[str, str]:
    """An environment in which there is no journalctl."""
    nothing = tmp_path / "bin"
    nothing.mkdir()
    return desk.environment(PATH=os.fspath(nothing))


def test_without_a_journal_the_kept_tail_is_shown(desk: Desk, without_journal: dict[str, str]) -> None:
    desk.enqueue("mail")
    desk.settle("mail", Retry(0.0, "exit 6\nbusy"))
    dead = desk.settle("mail", Bury("exit 7\nno route"))
    result = desk.run("logs", dead, env=without_journal)
    times = re.compile(r"ended 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d")
    first = "attempt 1: ended\n  exit 6\n  busy\nattempt 2: ended\n  exit 7\n  no route\n"
    assert (result.code, times.sub("ended", result.out)) == (0, first)
    assert "journalctl cannot be started: no such file" in result.err
    documents = desk.run("logs", "--json", dead, env=without_journal).json_lines
    assert [(one["attempt"], one["message"]) for one in documents] == [
        (1, "exit 6\nbusy"),
        (2, "exit 7\nno route"),
    ]
    assert desk.run("logs", "f" * 32, env=without_journal).code == 1
    desk.good("retry", dead)
    desk.settle("mail", Bury("exit 8"))
    again = times.sub("ended", desk.run("logs", dead, env=without_journal).out)
    assert again == f"{first}then it was retried:\nattempt 1: ended\n  exit 8\n"
    done = ended(desk, Done())
    assert "Nothing is kept of its output" in desk.run("logs", done, env=without_journal).err


JOURNALCTL = """#!{python}
import json, sys
from pathlib import Path
assert sys.argv[-1] == "SQLQD_JOB_ID={job}", sys.argv
if not any(word.startswith("--after-cursor") for word in sys.argv):
    for number, message in enumerate(["mail started", [104, 255], "mail done"]):
        print(json.dumps({{"__REALTIME_TIMESTAMP": "1800000000000000", "__CURSOR": f"c{{number}}",
            "MESSAGE": message, "PRIORITY": "4", "SQLQD_EVENT": "job.output", "SQLQD_JOB_ID": "{job}",
            "SQLQD_ATTEMPT": "1", "SQLQD_DURATION_SECONDS": "0.25", "SQLQD_QUEUE": "7"}}))
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
    assert document == {
        "timestamp": "2027-01-15T08:00:00.000Z",
        "level": "warning",
        "event": "job.output",
        "job_id": job,
        "attempt": 1,
        "duration_seconds": 0.25,
        "queue": "7",
        "message": "mail started",
    }


def test_following_ends_where_the_journal_keeps_silent_of_a_job_that_runs(desk: Desk, tmp_path: Path) -> None:
    job = desk.enqueue("mail")
    desk.claim("mail")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "journalctl").symlink_to("/bin/true")
    result = desk.run("logs", "--follow", job, env=desk.environment(PATH=os.fspath(folder)))
    assert result.code == 0
    assert "a daemon that systemd did not start logs to its standard error" in result.err
    assert "the journal has no records of it" in result.err
    assert ("members of groups systemd-journal" in result.err) == (os.geteuid() != 0)
