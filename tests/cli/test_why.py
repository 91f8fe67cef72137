"""`sqlqd why` as people type it."""

import pytest

from tests.support.shell import Desk
from tests.support.sql import shell


def test_it_is_one_sentence_on_one_line(desk: Desk) -> None:
    failed, dead, done = desk.failed("mail", wait=600), desk.dead("json", "1"), desk.done("small")
    waits = desk.enqueue("mail")
    said = {job: desk.good("why", job[:8]).out for job in (waits, dead, done, failed)}
    assert said[waits].startswith("No daemon is running (")
    assert said[dead].startswith("It is dead since 20")
    assert said[done].startswith("It is done since 20")
    assert "after attempt 1 failed with exit 1; besides, no daemon is running" in said[failed]
    assert {text.count("\n") for text in said.values()} == {1}
    document = desk.good("why", failed, "--json").json
    assert [document[name] for name in ("id", "queue", "state", "reason")] == [
        *(failed, "mail", "scheduled", "backoff")
    ]
    assert [one["reason"] for one in document["reasons"]] == ["backoff", "no_daemon"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [(["abcdef"], 1, "no such job: abcdef"), (["abc"], 1, "at least 6"), ([], 2, "ID")],
)
def test_an_unknown_job_is_said_so(desk: Desk, words: list[str], code: int, said: str) -> None:
    desk.enqueue("mail")
    result = desk.run("why", *words)
    assert (result.code, result.out, result.err.count("\n")) == (code, "", 1)
    assert said in result.err


def test_a_lease_of_another_program_is_told(desk: Desk) -> None:
    job = desk.enqueue("mail")
    shell(desk.database, "UPDATE jobs SET locked_by = 'me', locked_until = unixepoch() + 60.0;")
    assert desk.good("why", job).out.startswith("Another program (me) holds it under a lease until 20")
