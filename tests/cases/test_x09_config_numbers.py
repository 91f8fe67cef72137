"""Only a sane number passes for one."""

from pathlib import Path

import pytest

from sqlqd.config import ConfigError, load
from tests.support.shell import Desk

LENGTHS = [
    "nan",
    "-nan",
    "inf",
    "-inf",
    "1e400",
    "true",
    '"30"',
    '"nan"',
    "0",
    "-1",
    "1e30",
    "[30]",
    '"1e30s"',
]
WORKERS = ["0", "-1", "1.5", "true", "100000", '"4"', "nan", "inf", "1e3", "99999999999999999999"]
COUNTS = ["0", "-1", "1.5", "false", '"3"', "nan", "1e30", "99999999999999999999"]


def write(desk: Desk, table: str, key: str, value: str) -> int:
    """Write a configuration with one setting; its line."""
    lines = [
        *("[daemon]", 'database = "queue.db"', "# daemon", "[queues.mail]", 'command = "cat"', "# queue", ""),
    ]
    at = lines.index(f"# {table}")
    lines[at] = f"{key} = {value}"
    desk.config.write_text("\n".join(lines))
    return at + 1


def refused(directory: Path, table: str, key: str, value: str) -> None:
    """The value is refused with key and line."""
    desk = Desk(directory)
    line = write(desk, table, key, value)
    with pytest.raises(ConfigError) as wrong:
        load(desk.config)
    (problem,) = wrong.value.problems
    assert problem.startswith(f"{desk.config}:{line}: ")
    assert key in problem


@pytest.mark.case("X09")
@pytest.mark.parametrize("words", [["check"], ["enqueue", "mail"], ["status"], ["run"]])
def test_every_verb_ends_with_the_status_of_a_wrong_configuration(tmp_path: Path, words: list[str]) -> None:
    desk = Desk(tmp_path)
    line = write(desk, "queue", "lease", "nan")
    result = desk.run(*words)
    assert (result.code, result.out) == (78, "")
    assert result.err.startswith(f"sqlqd: {desk.config}:{line}: ")
    assert "lease" in result.err
    assert result.err.count("\n") == 1
    assert not desk.database.exists()


@pytest.mark.case("X09")
@pytest.mark.parametrize("value", LENGTHS)
def test_a_lease(tmp_path: Path, value: str) -> None:
    refused(tmp_path, "queue", "lease", value)


@pytest.mark.case("X09")
@pytest.mark.parametrize("value", WORKERS)
def test_a_number_of_workers(tmp_path: Path, value: str) -> None:
    refused(tmp_path, "daemon", "workers", value)


@pytest.mark.case("X09")
@pytest.mark.parametrize("value", COUNTS)
def test_a_number_of_attempts(tmp_path: Path, value: str) -> None:
    refused(tmp_path, "queue", "max_attempts", value)


@pytest.mark.case("X09")
@pytest.mark.parametrize("value", ["nan", "inf", "-1", "true", "1e400", '"30"', '"infinite"'])
@pytest.mark.parametrize(
    ("table", "key"), [("daemon", "drain_timeout"), ("daemon", "busy_timeout"), ("queue", "timeout")]
)
def test_a_length_of_time(tmp_path: Path, table: str, key: str, value: str) -> None:
    refused(tmp_path, table, key, value)


@pytest.mark.case("X09")
def test_no_limit_is_a_word_and_a_timeout_may_be_longer_than_the_lease(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.config.write_text(
        '[daemon]\ndatabase = "queue.db"\ndrain_timeout = "infinity"\n'
        '[queues.a]\ncommand = "cat"\nlease = 2\ntimeout = "1h"\n'
        '[queues.b]\ncommand = "cat"\ntimeout = "infinity"\n'
    )
    queues = desk.good("check", "--json").json["queues"]
    assert [(queue["lease_seconds"], queue["timeout_seconds"]) for queue in queues] == [(2, 3600), (30, None)]
