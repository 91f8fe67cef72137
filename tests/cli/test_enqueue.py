"""`sqlqd enqueue`, one job at a time."""

import os
import re
import sys
import time
from datetime import datetime

import pytest

from tests.support.shell import Desk
from tests.support.sql import rows

ID = re.compile(r"[0-9a-f]{32}\n")


def test_it_makes_the_database_and_prints_the_id_alone(desk: Desk) -> None:
    result = desk.good("enqueue", "mail", "hello")
    assert ID.fullmatch(result.out)
    assert result.err == ""
    assert desk.database.stat().st_mode & 0o777 == 0o660
    (job,) = desk.jobs()
    assert (job["id"], job["queue"], job["payload"]) == (result.out.strip(), "mail", "hello")
    assert (job["state"], job["priority"], job["attempts"], job["key"]) == ("ready", 0, 0, None)


def test_it_never_makes_a_directory(desk: Desk) -> None:
    desk.config.write_text('[daemon]\ndatabase = "none/queue.db"\n[queues.mail]\ncommand = "cat"\n')
    result = desk.run("enqueue", "mail")
    assert (result.code, result.out) == (1, "")
    assert str(desk.directory / "none") in result.err
    assert not (desk.directory / "none").exists()


def test_without_a_payload_it_is_empty(desk: Desk) -> None:
    desk.good("enqueue", "mail")
    assert desk.payloads("mail") == [""]


def test_a_dash_reads_the_payload_as_it_comes(desk: Desk) -> None:
    text = "first\nsecond\r\n\n  é "
    desk.good("enqueue", "mail", "-", stdin=text.encode())
    assert desk.payloads("mail") == [text]


def test_json_tells_the_id_and_whether_it_is_new(desk: Desk) -> None:
    first = desk.good("enqueue", "mail", "--key", "k", "--json").json
    again = desk.good("enqueue", "mail", "other", "--key", "k", "--json").json
    assert first == {"id": first["id"], "created": True}
    assert again == {"id": first["id"], "created": False}
    assert len(desk.jobs()) == 1


def test_the_options_reach_the_row(desk: Desk) -> None:
    before = time.time()
    desk.good(
        "enqueue", "mail", "--delay", "1h 30min", "--priority", "-7", "--key", "k", "--max-attempts", "3"
    )
    (job,) = desk.jobs()
    assert (job["priority"], job["key"], job["max_attempts"]) == (-7, "k", 3)
    assert job["state"] == "scheduled"
    assert before + 5400 <= job["run_at"] <= time.time() + 5400


def test_a_delay_without_a_unit_is_seconds(desk: Desk) -> None:
    before = time.time()
    desk.good("enqueue", "mail", "--delay", "90")
    assert before + 90 <= desk.jobs()[0]["run_at"] <= time.time() + 90


def test_a_moment_without_a_zone_is_local_time(desk: Desk) -> None:
    env = desk.environment(TZ="Europe/Berlin")
    assert desk.run("enqueue", "mail", "--at", "2030-07-01T12:00", env=env).code == 0
    assert desk.run("enqueue", "mail", "--at", "2030-07-01T12:00Z", env=env).code == 0
    assert desk.run("enqueue", "mail", "--at", "2030-07-01T12:00+05:30", env=env).code == 0
    expected = [
        datetime.fromisoformat(f"2030-07-01T{clock}").timestamp()
        for clock in ("10:00+00:00", "12:00+00:00", "06:30+00:00")
    ]
    assert [job["run_at"] for job in desk.jobs()] == expected


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nosuch"], "no queue 'nosuch' is configured"),
        (["mial"], 'did you mean "mail"?'),
        (["mail", "--priority", "101"], "101"),
        (["mail", "--priority", "true"], "true"),
        (["mail", "--delay", "soon"], "soon"),
        (["mail", "--delay", "infinity"], "needs an end"),
        (["mail", "--delay", "nan"], "nan"),
        (["mail", "--at", "yesterday"], "yesterday"),
        (["mail", "--at", "9999-01-01T00:00Z"], "too far"),
        (["mail", "--at", "2030-01-01", "--delay", "1s"], "exclude"),
        (["mail", "--key", ""], "--key"),
        (["mail", "--max-attempts", "0"], "max-attempts"),
        (["mail", "--atomic"], "--lines"),
        (["mail", "text", "--lines"], "standard input"),
        (["mail", "--lines", "--key", "k"], "exclude"),
        (["mail", "--nosuch"], "--nosuch"),
        (["mail", "one", "two"], "two"),
        ([], "QUEUE"),
        (["small", "01234567890"], "max_payload of 10B"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(desk: Desk, words: list[str], said: str) -> None:
    result = desk.run("enqueue", *words)
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert result.err.count("\n") == 1
    assert not desk.database.exists()


def test_a_queue_that_is_not_configured_may_be_meant(desk: Desk) -> None:
    desk.good("enqueue", "later", "x", "--any-queue")
    assert desk.payloads("later") == ["x"]


def test_the_limit_counts_bytes(desk: Desk) -> None:
    desk.good("enqueue", "small", "0123456789")
    result = desk.run("enqueue", "small", "éééééé")
    assert (result.code, result.out) == (2, "")
    assert "12 bytes" in result.err
    result = desk.run("enqueue", "small", "-", stdin=b"x" * 1_000_000)
    assert result.code == 2
    assert len(desk.jobs()) == 1


def test_a_database_that_stays_locked_is_told_as_that(desk: Desk) -> None:
    desk.config.write_text(desk.config.read_text().replace("workers", 'busy_timeout = "200ms"\nworkers'))
    desk.enqueue("mail")
    locker = (
        "import sys, apsw; c = apsw.Connection(sys.argv[1]); c.execute('BEGIN IMMEDIATE');"
        "import subprocess; sys.exit(subprocess.call(sys.argv[2:]))"
    )
    result = desk.run("enqueue", "mail", wrap=[sys.executable, "-c", locker, os.fspath(desk.database)])
    assert (result.code, result.out) == (75, "")
    assert "nothing was changed" in result.err
    assert len(desk.jobs()) == 1


def test_the_id_of_another_program_stays_on_its_line(desk: Desk) -> None:
    desk.enqueue("mail")
    rows(
        desk.database, "INSERT INTO jobs (id, queue, key) VALUES ('two' || char(10) || 'lines', 'mail', 'k')"
    )
    assert desk.good("enqueue", "mail", "--key", "k").out.count("\n") == 1
