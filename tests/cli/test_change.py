"""`sqlqd retry`, `cancel` and `purge`."""

import json
import os
import pty
import subprocess

import pytest

from sqlqd.model import Bury
from tests.support.shell import SQLQD, Desk


def states(desk: Desk) -> dict[str, str]:
    return {job["id"]: job["state"] for job in desk.jobs()}


def test_retry_gives_dead_jobs_fresh_attempts(desk: Desk) -> None:
    job = desk.dead("mail", "x")
    assert desk.good("retry", job[:6]).out == "retried 1 job\n"
    (again,) = desk.jobs()
    assert (again["id"], again["state"], again["attempts"], again["payload"]) == (job, "ready", 0, "x")


def test_retry_makes_jobs_in_backoff_due(desk: Desk) -> None:
    job = desk.failed("mail", wait=3600)
    assert states(desk) == {job: "scheduled"}
    assert desk.good("retry", "--queue", "mail").out == "retried 1 job\n"
    assert states(desk) == {job: "ready"}


def test_retry_names_what_it_left_alone(desk: Desk) -> None:
    desk.good("enqueue", "mail", "--key", "k")
    dead = desk.settle("mail", Bury("exit 1"))
    live = desk.enqueue("mail", "", "--key", "k")
    result = desk.run("retry", "--state", "dead")
    assert (result.code, result.out) == (1, "retried 0 jobs\n")
    assert dead in result.err
    assert states(desk) == {live: "ready", dead: "dead"}


def test_cancel_prints_each_job_as_a_line_of_json(desk: Desk) -> None:
    one, two = desk.enqueue("mail", "1"), desk.enqueue("mail", "2", "--delay", "1h")
    result = desk.good("cancel", "--queue", "mail")
    assert [(job["id"], job["payload"]) for job in result.json_lines] == [(one, "1"), (two, "2")]
    assert "cancelled 2 jobs" in result.err
    assert desk.jobs() == []
    records = desk.jobs("--state", "done")
    assert {record["id"]: record["outcome"] for record in records} == {one: "cancelled", two: "cancelled"}


def test_purge_deletes_dead_jobs_or_records(desk: Desk) -> None:
    dead, done, waiting = desk.dead("mail"), desk.done("mail"), desk.enqueue("mail")
    assert desk.good("purge", "--queue", "mail").out == "purged 1 job\n"
    assert states(desk) == {waiting: "ready"}
    assert [job["id"] for job in desk.jobs("--state", "done")] == [done]
    assert desk.good("purge", "--state", "done").out == "purged 1 job\n"
    assert desk.jobs("--state", "done") == []
    assert desk.run("purge", dead).code == 1


@pytest.mark.parametrize("verb", ["retry", "cancel", "purge"])
def test_a_selector_is_needed(desk: Desk, verb: str) -> None:
    desk.enqueue("mail")
    for words in ([], ["--limit", "3"], ["--dry-run"], ["--yes"]):
        result = desk.run(verb, *words)
        assert (result.code, result.out) == (2, "")
        assert "--queue" in result.err


@pytest.mark.parametrize("verb", ["retry", "cancel", "purge"])
def test_no_ids_on_standard_input_select_nothing(desk: Desk, verb: str) -> None:
    desk.dead("mail")
    waiting = desk.enqueue("mail")
    assert "0 jobs" in "".join((desk.good(verb, "-").out, desk.good(verb, "-").err))
    assert len(states(desk)) == 2
    assert states(desk)[waiting] == "ready"


@pytest.mark.parametrize("verb", ["retry", "cancel", "purge"])
def test_an_id_that_is_not_there_is_named(desk: Desk, verb: str) -> None:
    desk.enqueue("mail")
    result = desk.run(verb, "123456789")
    assert result.code == 1
    assert "123456789" in result.err


def test_a_queue_by_a_slip_of_the_pen_is_refused(desk: Desk) -> None:
    desk.dead("mail")
    result = desk.run("purge", "--queue", "mial")
    assert (result.code, result.out) == (2, "")
    assert 'did you mean "mail"?' in result.err


def test_a_dry_run_changes_nothing(desk: Desk) -> None:
    dead, waiting = desk.dead("mail"), desk.enqueue("mail")
    assert desk.good("retry", "--queue", "mail", "--dry-run").out == "would retry 1 job\n"
    assert desk.good("purge", "--queue", "mail", "--dry-run").out == "would purge 1 job\n"
    result = desk.good("cancel", "--queue", "mail", "--dry-run")
    assert [job["id"] for job in result.json_lines] == [waiting]
    assert "would cancel 1 job" in result.err
    assert states(desk) == {dead: "dead", waiting: "ready"}


def test_ids_come_from_standard_input(desk: Desk) -> None:
    ids = [desk.enqueue("mail") for _ in range(3)]
    result = desk.good("cancel", "-", stdin="\n".join(ids[:2]).encode())
    assert [job["id"] for job in result.json_lines] == ids[:2]
    assert states(desk) == {ids[2]: "ready"}


def test_the_limit_holds(desk: Desk) -> None:
    desk.good("enqueue", "mail", "--lines", stdin=b"\n" * 5)
    assert len(desk.good("cancel", "--queue", "mail", "--limit", "2").json_lines) == 2
    assert len(states(desk)) == 3


def test_a_running_job_is_asked_to_end(desk: Desk) -> None:
    job = desk.enqueue("mail")
    desk.claim("mail")
    for verb in (("cancel",), ("kill", "--bury"), ("kill",)):
        result = desk.run(*verb, job)
        assert result.code == 0
        assert "1 job (1 running, being ended)" in result.out + result.err
    assert states(desk) == {job: "running"}


def test_what_does_not_run_cannot_be_killed_but_buried(desk: Desk) -> None:
    job = desk.enqueue("mail")
    result = desk.run("kill", job)
    assert (result.code, "is ready, not running" in result.err) == (1, True)
    assert desk.good("kill", "--bury", job).out == "killed 1 job\n"
    assert states(desk) == {job: "dead"}
    assert json.loads(desk.good("show", "--json", job).out)["reason"] == "killed"


@pytest.mark.parametrize(("answer", "left", "code"), [(b"n\n", 21, 1), (b"y\n", 0, 0)])
def test_on_a_terminal_it_asks_before_more_than_20(desk: Desk, answer: bytes, left: int, code: int) -> None:
    desk.good("enqueue", "mail", "--lines", stdin=b"\n" * 21)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [SQLQD, "cancel", "--queue", "mail"],
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.DEVNULL,
        env=desk.environment(),
    ) as process:
        os.close(theirs)
        asked = b""
        while b"[y/N]" not in asked:
            asked += os.read(ours, 1000)
        os.write(ours, answer)
        assert process.wait(30) == code
    os.close(ours)
    assert b"cancel 21 jobs?" in asked
    assert len(states(desk)) == left


def test_on_a_terminal_20_go_without_a_question_and_more_with_yes(desk: Desk) -> None:
    for count, words in ((20, []), (21, ["--yes"])):
        desk.good("enqueue", "mail", "--lines", stdin=b"\n" * count)
        ours, theirs = pty.openpty()
        done = subprocess.run(
            [SQLQD, "cancel", "--queue", "mail", *words],
            stdin=theirs,
            stderr=theirs,
            stdout=subprocess.DEVNULL,
            env=desk.environment(),
            timeout=30,
            check=False,
        )
        os.close(theirs)
        os.close(ours)
        assert done.returncode == 0
        assert states(desk) == {}


def test_too_short_a_prefix_is_told_from_an_unknown_id(desk: Desk) -> None:
    job = desk.good("enqueue", "mail").out.strip()
    refused = desk.run("cancel", job[:5])
    assert refused.code == 1
    assert "at least 6 characters" in refused.err


def test_a_cancelled_job_is_listed_as_what_it_is(desk: Desk) -> None:
    job = desk.good("enqueue", "mail").out.strip()
    desk.good("cancel", job)
    (_, line) = desk.good("list", "--state", "done").out.splitlines()
    assert line.split()[2] == "cancelled"
