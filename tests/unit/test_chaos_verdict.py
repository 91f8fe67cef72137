"""The judge of a chaos run is itself judged: each broken promise, planted, must be seen."""

from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.verdict import End, Kill, parse, recoveries, reruns, violations

ACKNOWLEDGED = {"a": "quick", "b": "failing", "c": "doomed"}
JOURNAL = parse(
    "begin a 1 100 10 1.0\n"
    "begin b 1 101 11 1.1\n"
    "end b 1 101 11 1.2\n"
    "begin a 2 102 12 1.5\n"
    "end a 2 102 12 1.6\n"
    "begin b 2 103 11 1.7\n"
    "end b 2 103 11 1.8\n"
    "begin c 1 104 11 1.9\n"
    "end c 1 104 11 2.0\n"
)
END = End(frozenset("ab"), frozenset("c"), live=0, integrity="ok", processes=(), exit_status=0)


def test_a_run_that_held_its_promises_has_no_violations() -> None:
    assert violations(ACKNOWLEDGED, JOURNAL, END) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"done": frozenset("b")}, "a (quick) should be done, and is nowhere"),
        ({"dead": frozenset("ac")}, "a (quick) should be done, and is done and dead"),
        ({"dead": frozenset()}, "c (doomed) should be dead, and is nowhere"),
        ({"live": 2}, "2 rows are left in jobs"),
        ({"integrity": "row 1 missing from index"}, "integrity_check: row 1 missing from index"),
        ({"processes": ("77 sleep 600",)}, "a process was left behind: 77 sleep 600"),
        ({"exit_status": 1}, "the daemon ended with exit status 1"),
    ],
)
def test_a_bad_end_is_seen(changes: dict[str, Any], expected: str) -> None:
    assert expected in violations(ACKNOWLEDGED, JOURNAL, replace(END, **changes))


def test_a_job_that_never_ran_is_seen() -> None:
    found = violations({**ACKNOWLEDGED, "d": "quick"}, JOURNAL, replace(END, done=frozenset("abd")))
    assert found == ["d (quick) was acknowledged and never ran"]


def test_two_executions_at_once_are_seen() -> None:
    found = violations(ACKNOWLEDGED, [*JOURNAL, *parse("overlap a 2 102 12 1.5\n")], END)
    assert found == ["a ran twice at once (attempt 2)"]


def test_recovery_is_from_the_kill_at_work_to_the_next_begin() -> None:
    at_work, idle = Kill(10, "child", 1.25), Kill(11, "child", 2.5)
    assert recoveries([at_work, idle], JOURNAL) == [0.25]


def test_reruns_are_executions_beyond_the_first() -> None:
    assert reruns(JOURNAL) == 2
