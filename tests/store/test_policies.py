"""What a queue promises over time: rates, breakers, keys in turns, jobs that are too late or too many."""

import json
from dataclasses import replace
from typing import Any

import pytest

from sqlqd.model import (
    Breaker,
    Bury,
    Done,
    Ended,
    NewJob,
    Outcome,
    Rate,
    Release,
    Retry,
    Rules,
    Selection,
    State,
)
from sqlqd.store import notice
from sqlqd.store.base import QueueFull, Store
from tests.support.clocks import TwoHands
from tests.support.stores import add, claim, claimed, holder, seen

FAILED = Outcome(Ended.EXITED, 0.0, 1.0, code=1)


def starts(store: Store, clock: TwoHands, rules: Rules, seconds: float, step: float = 0.5) -> list[float]:
    """When jobs were started by somebody who looks all the time, from now on."""
    began, found = clock.wall(), []
    while clock.wall() - began < seconds:
        while (held := claim(store, rules)) is not None:
            found.append(clock.wall() - began)
            store.settle(held, Done())
        clock.pass_by(step)
    return found


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (Rate(6.0), [0.0, 6.0, 12.0, 18.0]),
        (Rate(6.0, 3), [0.0, 0.0, 0.0, 6.0, 12.0, 18.0]),
        (Rate(0.5), [0.5 * number for number in range(40)]),
    ],
)
def test_a_rate_is_kept_exactly(store: Store, clock: TwoHands, rate: Rate, expected: list[float]) -> None:
    for _ in range(50):
        add(store)
    assert starts(store, clock, Rules("mail", rate=rate), 20.0) == pytest.approx(expected)


def test_a_rate_is_one_for_all_daemons_and_told_to_whoever_waits(
    store: Store, other: Store, clock: TwoHands
) -> None:
    rules = (Rules("mail", rate=Rate(60.0, 2)), Rules("data"))
    for _ in range(5):
        add(store)
    assert store.outlook(rules, limit=9).due == 2
    assert store.claim(holder(1), rules).claim
    assert other.claim(holder(2), rules).claim
    assert store.claim(holder(3), rules).claim is None
    seen_now = other.outlook(rules, limit=9)
    assert seen_now.due == 0
    assert seen_now.next_at == pytest.approx(clock.wall() + 60.0, abs=1e-3)
    # What has no rate goes on.
    add(store, queue="data")
    assert store.claim(holder(3), rules).claim


def test_a_clock_that_steps_back_does_not_hold_a_rate(store: Store, clock: TwoHands) -> None:
    rules = Rules("mail", rate=Rate(60.0))
    for _ in range(2):
        add(store, run_at=1.0)
    assert claim(store, rules)
    clock.step_wall(-100_000.0)
    assert claim(store, rules)


def fail(store: Store, rules: Rules) -> Any:
    held = claimed(store, rules)
    return store.settle(held, Retry(1.0, "exit 1"), FAILED)


def test_failures_in_a_row_hold_a_queue_until_one_succeeds(store: Store, clock: TwoHands) -> None:
    rules = Rules("mail", breaker=Breaker(3, 600.0))
    for _ in range(5):
        add(store)
    assert [fail(store, rules).held_for for _ in range(3)] == [0.0, 0.0, 600.0]
    assert claim(store, rules) is None
    assert store.outlook((rules,), limit=9).next_at == clock.wall() + 600.0
    clock.pass_by(600.0)
    assert store.outlook((rules,), limit=9).due == 1
    tried = claimed(store, rules)
    assert claim(store, rules) is None
    assert store.settle(tried, Retry(1.0, "exit 1"), FAILED).held_for == 600.0
    clock.pass_by(600.0)
    tried = claimed(store, rules)
    settled = store.settle(tried, Done())
    assert (settled.held_for, settled.freed) == (0.0, True)
    assert claim(store, rules)
    assert claim(store, rules)


def test_what_succeeds_between_or_was_ended_by_hand_is_no_failure_in_a_row(store: Store) -> None:
    rules = Rules("mail", breaker=Breaker(2, 600.0))
    for _ in range(9):
        add(store)
    fail(store, rules)
    settled = store.settle(claimed(store, rules), Done())
    assert settled.freed is False
    fail(store, rules)
    store.settle(claimed(store, rules), Release("the daemon stopped"), replace(FAILED, how=Ended.INTERRUPTED))
    store.settle(claimed(store, rules), Retry(1.0, "killed"), replace(FAILED, how=Ended.KILLED))
    assert claim(store, rules)
    # Nobody minds failures where there is no breaker.
    for _ in range(5):
        fail(store, Rules("mail"))


def test_jobs_of_one_key_take_turns_and_others_pass_them(store: Store, clock: TwoHands) -> None:
    rules = Rules("mail", exclusive=True)
    first, second, third = (add(store, key="a", shared=True) for _ in range(3))
    others = [add(store, key="b", shared=True), add(store), add(store, priority=-5)]
    held = claimed(store, rules)
    assert held.id == first
    assert [claimed(store, rules).id for _ in range(3)] == others
    assert claim(store, rules) is None
    assert store.outlook((rules,), limit=9).due == 0
    taken = store.settle(held, Retry(clock.wall() + 60.0, "exit 1"), then=(holder(), (rules,))).next.claim
    assert taken is not None
    assert taken.id == second
    assert claim(store, rules) is None
    store.settle(taken, Done())
    assert claimed(store, rules).id == third
    clock.pass_by(60.0)
    assert claim(store, rules) is None


def test_the_turn_of_a_key_is_kept_while_its_job_is_lost(store: Store) -> None:
    rules = Rules("mail", exclusive=True)
    first, _ = (add(store, key="a", shared=True) for _ in range(2))
    assert claimed(store, rules).id == first
    store.end_leases([holder().uid])
    assert claimed(store, rules, who=holder(2)).id == first
    assert claim(store, rules) is None


def test_a_shared_key_comes_back_from_the_dead_beside_a_live_one(store: Store) -> None:
    rules = Rules("mail", exclusive=True)
    add(store, key="a", shared=True)
    died = claimed(store, rules)
    store.settle(died, Bury("used up"))
    add(store, key="a", shared=True)
    assert len(store.retry(Selection(ids=(died.id,))).jobs) == 1
    assert store.enqueue([NewJob("mail", key="a")])[0].created
    assert not store.enqueue([NewJob("mail", key="a")])[0].created


def test_a_job_that_comes_too_late_is_dead_instead(store: Store, clock: TwoHands) -> None:
    own = add(store, expires_at=clock.wall() + 60.0)
    queues = add(store)
    rules = Rules("mail", expires=100.0)
    clock.pass_by(60.0)
    assert claimed(store, rules).id == own
    store.end_leases([holder().uid])
    clock.pass_by(40.0)
    assert claimed(store, rules, who=holder(2)).id == queues
    assert seen(store, own).reason == "expired 40s ago, before it could be started"
    assert store.retry(Selection(ids=(own,))).jobs
    assert claimed(store, Rules("mail")).id == own


def test_a_queue_that_is_full_refuses_more_and_nothing_of_them_is_added(store: Store) -> None:
    for _ in range(3):
        add(store, max_waiting=3)
    with pytest.raises(QueueFull, match="queue mail is full: 3 jobs wait"):
        store.enqueue([NewJob("data"), NewJob("mail", max_waiting=3)])
    assert len(list(store.find(Selection()))) == 3
    claimed(store)
    add(store, key="k", max_waiting=3)
    assert not store.enqueue([NewJob("mail", key="k", max_waiting=3)])[0].created


@pytest.mark.parametrize("how", ["settled", "never fit to run"])
def test_a_dead_job_is_told_to_its_heir(store: Store, how: str) -> None:
    rules = Rules("mail", on_dead="morgue", max_payload=10, max_attempts=1)
    if how == "settled":
        job = add(store, payload="ü", key="k")
        held = claimed(store, rules)
        assert held.on_dead == "morgue"
        store.settle(held, Bury("exit 1"), replace(FAILED, output="said so"))
    else:
        job = add(store, payload="x" * 11)
        assert claim(store, rules) is None
    heir = claimed(store, "morgue")
    told = json.loads(heir.payload)
    dead = seen(store, job)
    assert dead.state is State.DEAD
    for name in (
        "id",
        "queue",
        "key",
        "payload",
        "reason",
        "attempts",
        "created_at",
        "died_at",
        "last_error",
    ):
        assert told[name] == getattr(dead, name)
    # The heir's own dead tell nobody of themselves.
    store.settle(replace(heir, on_dead="morgue"), Bury("used up"))
    assert claim(store, "morgue") is None


def test_an_heir_can_take_what_it_is_told_of_the_longest_jobs(store: Store) -> None:
    rules = Rules("mail", on_dead="morgue", max_attempts=1)
    job = add(store, payload='"' * 60_000, key="k")
    store.settle(claimed(store, rules), Bury("exit 1"), replace(FAILED, output="\x1b" * 8192))
    told = json.loads(claimed(store, Rules("morgue", max_payload=65_536)).payload)
    assert (told["id"], told["key"], told["payload"]) == (job, "k", None)
    assert told["last_error"].startswith("exit 1\n\x1b")


def test_an_heir_can_read_what_it_is_told_of_a_job_that_is_no_text() -> None:
    row = (b"id", b"mail", b"\xff", b"a\xffb", b"the payload is not valid UTF-8", 0, 1.5, 2.5, None)
    told = json.loads(notice.document(row).encode())
    assert (told["key"], told["payload"]) == ("\N{REPLACEMENT CHARACTER}", "a\N{REPLACEMENT CHARACTER}b")
    assert (told["died_at"], told["last_error"]) == (2.5, None)
