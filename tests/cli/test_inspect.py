"""`sqlqd status`, `list` and `show`."""

from contextlib import closing

import pytest

from sqlqd.model import Bury, Ended, NewJob, Outcome, Retry
from sqlqd.policy import reason
from tests.support.shell import Desk
from tests.support.sql import shell

TIMES = {"run_at", "locked_until", "created_at", "claimed_at", "died_at", "ended_at", "started_at"}


@pytest.mark.parametrize(
    "words", [["status"], ["list"], ["show", "abcdef"], ["retry", "abcdef"], ["purge", "--state", "dead"]]
)
def test_where_there_is_no_database_it_says_where_it_looked(desk: Desk, words: list[str]) -> None:
    result = desk.run(*words)
    assert (result.code, result.out) == (1, "")
    assert str(desk.database) in result.err
    assert result.err.count("\n") == 1
    assert not desk.database.exists()


def test_status_counts_by_queue_and_state(desk: Desk) -> None:
    desk.enqueue("mail")
    desk.enqueue("mail", "", "--delay", "1h")
    desk.enqueue("later", "", "--any-queue")
    desk.dead("json", "1")
    desk.enqueue("small")
    desk.claim("small")
    document = desk.good("status", "--json").json
    assert set(document) == {"daemon", "queues", "workers"}
    queues = {queue["name"]: queue for queue in document["queues"]}
    counts = {
        name: tuple(queue[state] for state in ("ready", "scheduled", "running", "dead"))
        for name, queue in queues.items()
    }
    assert counts == {
        "mail": (1, 1, 0, 0),
        "json": (0, 0, 0, 1),
        "small": (0, 0, 1, 0),
        "later": (1, 0, 0, 0),
    }
    assert queues["mail"]["oldest_ready_seconds"] >= 0
    assert queues["json"]["oldest_ready_seconds"] is None
    assert [queues["mail"]["configured"], queues["later"]["configured"]] == [True, False]
    assert queues["mail"]["paused"] is False
    daemon = document["daemon"]
    assert (daemon["running"], daemon["pid"], daemon["loaded_at"]) == (False, None, None)
    assert (daemon["config"], daemon["database"]) == (str(desk.config), str(desk.database))


def test_status_for_people_fits_80_columns(desk: Desk) -> None:
    long = "a-queue-with-a-very-long-name-that-goes-on-and-on"
    desk.enqueue(long, "", "--any-queue")
    text = desk.good("status").out
    assert "not well: no daemon is running" in text
    assert str(desk.database) in text
    table = text.split("\n\n", 1)[1]
    assert max(map(len, table.splitlines())) <= 80
    assert "not configured: its jobs wait" in table


def test_a_queue_that_is_not_configured_is_shown_for_as_long_as_it_has_something(desk: Desk) -> None:
    desk.enqueue("mial", "", "--any-queue")
    desk.good("cancel", "--queue", "mial")
    assert "mial" not in desk.good("status").out
    assert "mial" not in [queue["name"] for queue in desk.good("status", "--json").json["queues"]]
    desk.enqueue("jsno", "", "--any-queue")
    desk.good("kill", "--bury", "--queue", "jsno")
    table = desk.good("status").out
    assert "jsno" in table
    assert "not configured" in table
    assert "its jobs wait" not in table


def test_status_tells_of_pauses_and_of_the_last_hour(desk: Desk) -> None:
    desk.dead("json", "1")
    desk.done("small")
    desk.good("pause", "mail", "--for", "1h")
    queues = {queue["name"]: queue for queue in desk.good("status", "--json").json["queues"]}
    assert [queues[name]["paused"] for name in ("json", "mail", "small")] == [False, True, False]
    assert queues["mail"]["paused_until_iso"].endswith("Z")
    assert [queues[name]["done_last_hour"] for name in ("json", "mail", "small")] == [0, 0, 1]
    assert [queues[name]["failed_last_hour"] for name in ("json", "mail", "small")] == [1, 0, 0]
    desk.good("pause", "--all")
    document = desk.good("status", "--json").json
    assert {(queue["paused"], queue["paused_until"]) for queue in document["queues"]} == {(True, None)}
    assert [queue["name"] for queue in document["queues"]] == ["json", "mail", "small"]
    assert (document["daemon"]["paused"], document["daemon"]["well"]) == (True, False)
    assert "all queues are paused; `sqlqd resume --all`" in "".join(document["daemon"]["troubles"])
    assert "  paused since 20" in desk.good("status").out


def test_list_shows_jobs_and_not_the_records_of_done_ones(desk: Desk) -> None:
    waiting, dead, done = desk.enqueue("mail"), desk.dead("json", "1"), desk.done("small")
    assert {job["id"]: job["state"] for job in desk.jobs()} == {waiting: "ready", dead: "dead"}
    assert [job["id"] for job in desk.jobs("--state", "done")] == [done]


def test_list_narrows_by_every_selector(desk: Desk) -> None:
    one, two = desk.enqueue("mail", "", "--key", "k"), desk.enqueue("mail", "", "--delay", "1h")
    dead = desk.dead("json", "1", "the server is down")
    ids = {
        name: [job["id"] for job in desk.jobs(*words)]
        for name, words in {
            "argument": ["mail"],
            "queue": ["--queue", "mail"],
            "state": ["--state", "scheduled"],
            "states": ["--state", "scheduled", "--state", "dead"],
            "key": ["--key", "k"],
            "error": ["--error", "server is"],
            "older": ["--older-than", "1h"],
            "newer": ["--newer-than", "1h"],
            "limit": ["--limit", "1"],
            "id": [two],
            "prefix": [two[:8], dead[:6]],
        }.items()
    }
    assert ids == {
        "argument": [one, two],
        "queue": [one, two],
        "state": [two],
        "states": [two, dead],
        "key": [one],
        "error": [dead],
        "older": [],
        "newer": [one, two, dead],
        "limit": [one],
        "id": [two],
        "prefix": [two, dead],
    }
    assert desk.good("list", "--json", "-", stdin=f"{dead}\n\n {one} \n".encode()).out.count("\n") == 2
    assert desk.good("list", "--json", "-", stdin=b"\n").out == ""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["list", "mial"], 2, 'did you mean "mail"?'),
        (["list", "--queue", "mial"], 2, 'did you mean "mail"?'),
        (["list", "mail", "json"], 2, "one queue"),
        (["list", "abcdef"], 1, "no such job: abcdef"),
        (["list", "--state", "lost"], 2, "lost"),
        (["show", "abcdef"], 1, "no such job: abcdef"),
        (["show", b"\xff"], 2, "UTF-8"),
        (["show"], 2, "ID"),
    ],
)
def test_what_is_not_there_is_said(desk: Desk, words: list[str], code: int, said: str) -> None:
    desk.enqueue("mail")
    result = desk.run(*words)
    assert result.code == code
    assert said in result.err
    assert result.err.count("\n") == 1


def test_a_prefix_that_fits_several_jobs_is_refused(desk: Desk) -> None:
    desk.enqueue("mail")
    with closing(desk.store()) as store:
        store.enqueue([NewJob("mail", id="abcdef01"), NewJob("mail", id="abcdef02"), NewJob("mail", id="my")])
    assert desk.run("show", "abcdef").code == 1
    assert "several" in desk.run("show", "abcdef").err
    assert desk.good("show", "abcdef01", "--json").json["id"] == "abcdef01"
    assert desk.good("show", "my", "--json").json["id"] == "my"
    assert desk.jobs("my")[0]["id"] == "my"


def test_times_and_lengths_are_there_for_programs_and_people(desk: Desk) -> None:
    waiting, dead, done = desk.failed("mail", wait=60), desk.dead("json", "1"), desk.done("small")
    for job in (waiting, dead, done):
        document = desk.good("show", job, "--json").json
        for name in TIMES & document.keys():
            assert (document[name] is None) == (document[f"{name}_iso"] is None)
    assert desk.good("show", dead, "--json").json["died_at_iso"].endswith("Z")
    assert desk.good("show", done, "--json").json["outcome"] == "done"
    assert "duration_seconds" in desk.good("show", done, "--json").json


def test_show_is_the_whole_job(desk: Desk) -> None:
    job = desk.failed("mail", wait=60)
    text = desk.good("show", job[:6]).out
    assert job in text
    assert "it broke" in text
    assert "scheduled" in text
    assert desk.good("show", job, "--json").json["last_error"] == "exit 1\nit broke"


def test_show_tells_of_every_attempt(desk: Desk) -> None:
    job = desk.enqueue("mail")
    runs = (
        Outcome(Ended.EXITED, 1.8e9, 65.0, code=75, output="first\nlast line", cpu=0.25),
        Outcome(Ended.SIGNALLED, 1.8e9 + 100, 1.0, signal=9, output="x" * 5000 + "the end"),
    )
    for outcome in runs:
        claim = desk.claim("mail")
        with closing(desk.store()) as store:
            store.settle(claim, Retry(0.0, reason(outcome)), outcome)
    desk.claim("mail")
    text = desk.good("show", job).out
    assert "attempt 1: exited with status 75 after " in text
    assert ", 250ms of CPU, by worker 1\n" in text
    assert "\n  exit 75\n  first\n  last line\n" in text
    assert "attempt 2: signalled by SIGKILL after " in text
    assert "attempt 3: it is under a lease of worker 1 (pid 1), which is gone, until " in text
    assert text.count("the end\n") == 1
    assert f"  {'x' * 5000}the end\n" in text
    document = desk.good("show", job, "--json").json
    first, second = document["history"]
    assert (first["exit_code"], first["cpu_seconds"], second["signal"]) == (75, 0.25, 9)
    assert first["started_at_iso"] == "2027-01-15T08:00:00.000Z"
    assert second["error"].startswith("killed by SIGKILL\nxxx")
    assert second["error"].endswith("the end")
    assert len(second["error"]) < 1100


def test_what_nobody_is_at_work_on_is_not_said_to_run(desk: Desk) -> None:
    ours, elsewhere = desk.enqueue("mail"), desk.enqueue("small")
    desk.claim("mail")
    shell(
        desk.database,
        "UPDATE jobs SET locked_by = 'me', locked_until = unixepoch() + 60.0, claimed_at = unixepoch() + 0.0 "
        f"WHERE id = '{elsewhere}';",
    )
    states = {line.split()[0]: line.split()[2] for line in desk.good("list").out.splitlines()[1:]}
    assert states == {ours[:12]: "orphaned", elsewhere[:12]: "running"}
    assert "which is gone" in desk.good("show", ours).out
    assert "1 job that counts as running is" in desk.good("status").out
    assert "attempt 0: runs for " in desk.good("show", elsewhere).out
    assert [desk.good("show", job, "--json").json["state"] for job in (ours, elsewhere)] == ["running"] * 2


def test_nothing_that_a_terminal_obeys_is_printed(desk: Desk) -> None:
    nasty = "\x1b[2J\x9b31m\u202edcba\x7f"
    job = desk.enqueue("mail", nasty, "--key", nasty)
    desk.settle("mail", Bury(f"exit 1\n{nasty}\r\x08"))
    shown = [
        desk.good(*words).out
        for words in (["show", job], ["list"], ["show", job, "--json"], ["list", "--json"])
    ]
    for text in shown:
        assert not set(text.replace("\n", "")) & set("\x1b\x9b\u202e\x7f\r\x08")
    assert desk.good("show", job, "--json").json["payload"] == nasty


def test_list_for_people_fits_80_columns(desk: Desk) -> None:
    desk.enqueue("mail", "", "--key", "k" * 200)
    desk.enqueue("q" * 100, "", "--any-queue")
    lines = desk.good("list").out.splitlines()
    assert len(lines) == 3
    assert max(map(len, lines)) <= 80


def test_list_cuts_nothing_where_it_is_asked_not_to(desk: Desk) -> None:
    queue, key = "a-queue-with-a-name-of-some-length", "a/key/that/has/so/much/to/say"
    job = desk.enqueue(queue, "", "--any-queue", "--key", key)
    (line,) = desk.good("list").out.splitlines()[1:]
    assert (job in line, queue in line, key in line) == (False, False, False)
    (line,) = desk.good("list", "--wide").out.splitlines()[1:]
    words = line.split()
    assert (words[:2], words[-1]) == ([job, queue], key)


def test_list_in_another_order(desk: Desk) -> None:
    later, first, urgent = (
        *(desk.enqueue("mail", "", "--delay", "1h"), desk.enqueue("mail")),
        desk.enqueue("json", "1", "--priority", "5"),
    )
    dead = desk.dead("small")
    orders = {order: [job["id"] for job in desk.jobs("--order", order)] for order in ("newest", "due")}
    assert orders == {"newest": [urgent, first, later, dead], "due": [first, urgent, later]}
    assert [job["id"] for job in desk.jobs("--order", "priority", "--limit", "2")] == [urgent, first]
    for words in (["--order", "due", "--state", "dead"], ["--order", "newest", first], ["--order", "odd"]):
        result = desk.run("list", *words)
        assert (result.code, result.err.count("\n")) == (2, 1)
