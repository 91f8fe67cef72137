"""A NUL byte is refused where it comes in; as `\\u0000` in JSON it is text like any other."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.shell import Desk


@pytest.mark.case("C38")
@pytest.mark.parametrize("words", [["mail", "-"], ["mail", "--lines"], ["json", "-"]])
def test_enqueue_refuses_it(tmp_path: Path, words: list[str]) -> None:
    desk = Desk(tmp_path)
    result = desk.run("enqueue", *words, stdin=b'{"a":"x\0y"}')
    assert (result.code, result.out) == (2, "")
    assert "NUL" in result.err
    assert "\0" not in result.err
    assert not desk.database.exists() or desk.jobs() == []


@pytest.mark.case("C38")
def test_its_escape_in_json_is_passed_on_as_it_is(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.good("enqueue", "json", '{"a":"\\u0000"}')
    assert desk.payloads("json") == ['{"a":"\\u0000"}']


@pytest.mark.case("C38")
@pytest.mark.parametrize("column", ["queue", "payload", "key", "id"])
def test_the_schema_refuses_it_from_plain_sql(tmp_path: Path, column: str) -> None:
    desk = Desk(tmp_path)
    desk.enqueue("mail")
    values = {"queue": "'mail'", "payload": "'p'", "key": "'k'", "id": "'i'", column: "'x' || char(0) || 'y'"}
    statement = f"INSERT INTO jobs ({', '.join(values)}) VALUES ({', '.join(values.values())})"
    program = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()"
    done = subprocess.run(
        [sys.executable, "-c", program, desk.database, statement], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "IntegrityError" in done.stderr
    assert "without NUL" in done.stderr
    assert len(desk.jobs()) == 1


@pytest.mark.case("C38")
def test_a_configuration_with_it_is_refused(tmp_path: Path) -> None:
    desk = Desk(tmp_path, '[daemon]\ndatabase = "q.db"\n[queues.mail]\ncommand = "a\\u0000b"\n')
    result = desk.run("check")
    assert result.code == 78
    assert f"{desk.config}:4: " in result.err
