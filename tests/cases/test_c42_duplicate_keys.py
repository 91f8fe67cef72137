"""Payloads are opaque, so a key that comes twice steers nothing; in the configuration it is a mistake."""

from pathlib import Path

import pytest

from tests.support.shell import PLAIN, Desk


@pytest.mark.case("C42")
def test_a_payload_with_a_key_twice_is_passed_on_unchanged(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    payload = '{"queue":"small","queue":"mail","priority":1,"priority":99,"max_attempts":1}'
    job = desk.enqueue("json", payload)
    shown = desk.good("show", job, "--json").json
    assert (shown["queue"], shown["payload"]) == ("json", payload)
    assert (shown["priority"], shown["max_attempts"]) == (0, None)


@pytest.mark.case("C42")
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('[queues.twice]\ncommand = "a"\ncommand = "b"\n', "this key is set twice"),
        ('[queues.mail]\ncommand = "b"\n', "this table is there twice"),
        ('[queues.twice]\ncommand = "a"\nenv = { A = "1", A = "2" }\n', "Duplicate inline table key 'A'"),
    ],
)
def test_a_configuration_with_a_key_twice_is_refused_with_its_line(
    tmp_path: Path, more: str, said: str
) -> None:
    desk = Desk(tmp_path, PLAIN + more)
    line = PLAIN.count("\n") + (1 if "there twice" in said else more.count("\n"))
    for words in (["check"], ["enqueue", "mail"], ["run"]):
        result = desk.run(*words)
        assert (result.code, result.out) == (78, "")
        assert result.err == f"sqlqd: {desk.config}:{line}: {said}\n"
    assert not desk.database.exists()
