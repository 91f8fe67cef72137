"""The judge of a chaos run is itself judged: each broken promise, planted, must be seen."""

from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.verdict import Dead, End, Kill, parse, recoveries, reruns, violations

ACKNOWLEDGED = {"a": "quick", "b": "failing", "c": "doomed"}
JOURNAL = parse(
    "begin a 1 100 7 10 1.0\n"
    "begin b 1 101 7 11 1.1\n"
    "end b 1 101 7 11 1.2\n"
    "begin a 2 102 8 12 1.5\n"
    "end a 2 102 8 12 1.6\n"
    "begin b 2 103 8 11 1.7\n"
    "end b 2 103 8 11 1.8\n"
    "begin c 1 104 8 11 1.9\n"
    "end c 1 104 8 11 2.0\n"
)
DEAD = Dead(attempts=2, crashes=1, reason="exit 3", history=(1, 2))
END = End(
    done={"a": 2, "b": 2},
    dead={"c": DEAD},
    kinds=ACKNOWLEDGED,
    live=0,
    twice=(),
    integrity="ok",
    processes=(),
)


def test_a_run_that_held_its_promises_has_no_violations() -> None:
    assert violations(ACKNOWLEDGED, ["d"], JOURNAL, END) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"done": {"b": 2}, "kinds": {"b": "failing", "c": "doomed"}},
            "a (quick) was acknowledged and is gone",
        ),
        ({"done": {"b": 2}, "dead": {"a": DEAD, "c": DEAD}}, "a (quick) should be done, and is dead: exit 3"),
        ({"done": {"a": 2, "b": 2, "c": 1}, "dead": {}}, "c (doomed) should be dead, and is done"),
        ({"done": {"a": 3, "b": 2}}, "a (quick) is done after 3 attempts, of which [1, 2] began"),
        (
            {"dead": {"c": replace(DEAD, history=(2,))}},
            "c (doomed) died after 2 attempts with a history of [2]",
        ),
        (
            {"dead": {"c": replace(DEAD, attempts=0, history=())}},
            "c (doomed) died after 0 attempts, and began its attempt 1",
        ),
        ({"twice": ("a",)}, "a is in two tables"),
        ({"live": 2}, "2 rows are left in jobs"),
        ({"integrity": "row 1 missing from index"}, "integrity_check: row 1 missing from index"),
        ({"processes": ("77 sleep 600",)}, "a process was left behind: 77 sleep 600"),
    ],
)
def test_a_bad_end_is_seen(changes: dict[str, Any], expected: str) -> None:
    assert expected in violations(ACKNOWLEDGED, [], JOURNAL, replace(END, **changes))


def test_a_job_that_never_ran_is_seen() -> None:
    end = replace(END, done={**END.done, "d": 1}, kinds={**ACKNOWLEDGED, "d": "quick"})
    assert violations(ACKNOWLEDGED, [], JOURNAL, end) == [
        "d (quick) is done after 1 attempts, of which [] began"
    ]


def test_a_death_without_a_run_is_seen_where_its_worker_had_not_died_each_time() -> None:
    journal = [line for line in JOURNAL if line.job != "c"]
    assert violations(ACKNOWLEDGED, [], journal, END) == [
        "c (doomed) never ran, and died after 2 attempts with 1 crashes"
    ]
    excused = replace(END, dead={"c": replace(DEAD, crashes=2)})
    assert violations(ACKNOWLEDGED, [], journal, excused) == []


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("overlap", "a ran twice at once (attempt 2, at 1.500)"),
        ("crowd", "a ran although its queue was full (attempt 2, at 1.500)"),
        ("garbled", "a did not get its payload (attempt 2, at 1.500)"),
    ],
)
def test_what_an_execution_says_is_heard(what: str, expected: str) -> None:
    assert violations(ACKNOWLEDGED, [], [*JOURNAL, *parse(f"{what} a 2 102 8 12 1.5\n")], END) == [expected]


def test_an_end_after_the_next_begin_is_seen() -> None:
    late = parse("end a 1 100 7 10 1.55\n")
    assert "a ended its attempt 1 when another had begun" in violations(
        ACKNOWLEDGED, [], [*JOURNAL[:4], *late, *JOURNAL[4:]], END
    )


def test_attempts_that_go_back_are_seen() -> None:
    again = parse("begin a 1 105 9 12 2.1\n")
    found = violations(ACKNOWLEDGED, [], [*JOURNAL, *again], END)
    assert "a (quick) began its attempts in the order [1, 2, 1]" in found


def test_a_job_that_was_rolled_back_is_seen() -> None:
    assert violations(ACKNOWLEDGED, ["b"], JOURNAL, END) == ["b was rolled back and is there"]


def test_recovery_is_from_the_kill_at_work_to_the_next_begin() -> None:
    at_work, idle, other = Kill(10, "worker", 1.25), Kill(11, "worker", 2.5), Kill(10, "command", 1.25)
    assert recoveries([at_work, idle, other], JOURNAL) == [0.25]


def test_reruns_are_executions_beyond_the_first() -> None:
    assert reruns(JOURNAL) == 2
