"""What keys of one configuration have to agree on, each named with what is to change."""

from pathlib import Path

import pytest

from sqlqd.config import ConfigError, load

BASE = '[daemon]\ndatabase = "q.db"\n'


def problems(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "sqlqd.toml"
    path.write_text(BASE + text)
    try:
        load(path)
    except ConfigError as error:
        return [problem.split(": ", 1)[1] for problem in error.problems]
    return []


def queue(name: str, *lines: str) -> str:
    return "\n".join([f"[queues.{name}]", 'command = "true"', *lines, ""])


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["dead_codes = [0]"], "dead_codes: 0 is among success_codes too"),
        (["success_codes = [3, 4]", "dead_codes = [4, 3, 5]"], "dead_codes: 3, 4 is among success_codes too"),
        (["success_codes = []"], "success_codes: cannot be empty"),
        (['on_dead = "a"'], "on_dead: must be another queue"),
        (['on_dead = "nobody"'], "on_dead: is no queue of this configuration"),
        (["rate = { burst = 2 }"], "rate: needs limit too"),
        (["breaker = { failures = 3 }"], "breaker: needs pause too"),
    ],
)
def test_a_queue_that_contradicts_itself_is_refused(tmp_path: Path, lines: list[str], said: str) -> None:
    (problem,) = problems(tmp_path, queue("a", *lines))
    assert problem.startswith(f'queue "a": {said}')


def test_dead_jobs_never_come_back_by_whatever_way(tmp_path: Path) -> None:
    chain = queue("a", 'on_dead = "b"') + queue("b", 'on_dead = "c"')
    assert problems(tmp_path, chain + queue("c")) == []
    found = problems(tmp_path, chain + queue("c", 'on_dead = "a"'))
    assert len(found) == 3
    assert all("leads back to this queue" in problem for problem in found)
    # One that stands outside the circle and leads into it is no part of it.
    outside = problems(tmp_path, queue("z", 'on_dead = "a"') + chain + queue("c", 'on_dead = "a"'))
    assert len(outside) == 3


def test_an_heir_by_default_is_nobodys_own(tmp_path: Path) -> None:
    assert problems(tmp_path, '[defaults]\non_dead = "x"\n' + queue("a") + queue("x")) == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("'echo {payload}'", "command: {payload} is not filled in for a shell"),
        ("['echo', '{payload.to}']", 'command: {payload.field} needs payload = "json"'),
        ("['{payload}']", "command[0]: the program cannot come from a job"),
        ("['echo', '{payload.}']", "command[1]: {payload.} is none of"),
    ],
)
def test_placeholders_are_checked_with_the_rest(tmp_path: Path, command: str, said: str) -> None:
    (problem,) = problems(tmp_path, f"[queues.a]\ncommand = {command}\n")
    assert problem.startswith(f'queue "a": {said}')
