"""A payload is data: nothing on its way in takes it for anything else."""

from pathlib import Path

import pytest

from tests.support.shell import Desk

VALUES = [
    *("$(touch pwned)", "`touch pwned`", "; touch pwned", "a'b\"c\\d", "a\nb", "-rf", "--help", "-", "--"),
    *("{payload}", "{0}", "%s", "$HOME", "~", "*", "", " ", "@file", "\\x41", "!!", "\t"),
]


@pytest.mark.case("C34")
@pytest.mark.parametrize("value", VALUES)
def test_the_payload_is_stored_byte_for_byte(tmp_path: Path, value: str) -> None:
    desk = Desk(tmp_path)
    if value == "-":
        desk.good("enqueue", "mail", "-", stdin=b"-")
    else:
        desk.good("enqueue", "mail", "--key", value or "empty", "--", value)
    desk.good("enqueue", "mail", "-", stdin=value.encode())
    assert desk.payloads("mail") == [value, value]
    assert not (tmp_path / "pwned").exists()


@pytest.mark.case("C34")
@pytest.mark.parametrize("value", ["-rf", "--nosuch"])
def test_a_payload_that_looks_like_an_option_is_explained(tmp_path: Path, value: str) -> None:
    desk = Desk(tmp_path)
    result = desk.run("enqueue", "mail", value)
    assert result.code == 2
    assert "--" in result.err
    assert "sqlqd enqueue --help" in result.err
    assert "Put -- before one" in desk.good("enqueue", "--help").out


@pytest.mark.case("C34")
@pytest.mark.parametrize("queue", ["../x", "a b", "$(touch pwned)", "é"])
def test_a_queues_name_is_only_a_name(tmp_path: Path, queue: str) -> None:
    desk = Desk(tmp_path)
    assert desk.run("enqueue", queue).code == 2
    desk.good("enqueue", "--any-queue", queue, "x")
    assert desk.payloads(queue) == ["x"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["queue.db", "sqlqd.toml"]
