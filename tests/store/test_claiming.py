"""Which job is next, and which can never be."""

import pytest

from sqlqd.model import Bury, Done, NewJob, Release, Retry, Rules, Selection, State
from sqlqd.store.base import Interrupted, Store
from tests.support.clocks import TwoHands
from tests.support.stores import Backend, add, claim, claimed, failure, holder, seen

SERVED = (Rules("a"), Rules("b"), Rules("c"))


def drain(store: Store, *queues: str | Rules) -> list[str]:
    """Payloads in the order in which they are given out, as one worker sees them."""
    order, after = [], ""
    while found := claim(store, *queues, after=after):
        order.append(found.job.payload)
        after = found.job.queue
        store.settle(found, Done())
    return order


def test_a_claim_raises_attempts_under_a_fresh_token(store: Store, clock: TwoHands) -> None:
    add(store)
    tokens = set()
    for attempt in range(1, 5):
        found = claimed(store, Rules("mail", lease=12.0))
        assert found.job.attempts == attempt
        assert (found.claimed_at, found.until) == (clock.wall(), clock.wall() + 12.0)
        assert found.until_awake == clock.awake() + 12.0
        tokens.add(found.token)
        store.settle(found, Retry(clock.wall(), "again"))
    assert len(tokens) == 4


def test_the_token_names_its_holder(store: Store) -> None:
    add(store)
    who = holder(5)
    assert claimed(store, who=who).token.startswith(f"{who.uid}/5/{who.pid}/")


def test_priority_then_time_then_arrival(store: Store, clock: TwoHands) -> None:
    now = clock.wall()
    for payload, priority, run_at in [
        ("5 low", -1, now - 90),
        ("3 second", 0, now - 10),
        ("4 third", 0, now - 10),
        ("2 first", 0, now - 20),
        ("1 high", 100, now),
        ("never", 100, now + 1),
    ]:
        add(store, payload=payload, priority=priority, run_at=run_at)
    assert drain(store) == ["1 high", "2 first", "3 second", "4 third", "5 low"]


def test_what_waits_in_the_future_hides_nothing(store: Store, clock: TwoHands) -> None:
    for priority in range(-100, 101):
        add(store, payload="later", priority=priority, delay=60)
    add(store, payload="due", priority=-100)
    assert drain(store) == ["due"]
    clock.pass_by(60)
    assert len(drain(store)) == 201


def test_due_exactly_at_its_time(store: Store, clock: TwoHands) -> None:
    add(store, delay=10)
    clock.pass_by(9.999)
    assert claim(store) is None
    clock.pass_by(0.001)
    assert claim(store) is not None


def test_queues_take_turns(store: Store) -> None:
    for queue, number in [("a", 4), ("b", 2), ("c", 1)]:
        for one in range(number):
            add(store, queue, f"{queue}{one}")
    assert drain(store, *SERVED) == ["a0", "b0", "c0", "a1", "b1", "a2", "a3"]


def test_a_flood_starves_nobody(store: Store) -> None:
    store.enqueue([NewJob("a", "flood", priority=100)] * 500)
    add(store, "z", "patient", priority=-100)
    order, after = [], ""
    for _ in range(2):
        found = claimed(store, "a", "z", after=after)
        order.append(found.job.payload)
        after = found.job.queue
    assert order == ["flood", "patient"]


def test_only_served_queues_are_claimed_from(store: Store) -> None:
    for queue in ("a", "aa", "b", "bb", "ü", "\U0001f980"):
        add(store, queue, queue)
    assert drain(store, "aa", "ü", "absent", "\U0001f980") == ["aa", "ü", "\U0001f980"]
    assert {job.queue for job in store.find(Selection(states=frozenset({State.READY})))} == {"a", "b", "bb"}


def test_a_limit_holds_over_all_claimers(store: Store, other: Store) -> None:
    two = Rules("mail", concurrency=2)
    store.enqueue([NewJob("mail")] * 4)
    first = claimed(store, two)
    claimed(other, two, who=holder(2))
    assert claim(store, two) is None
    assert claim(other, two, who=holder(3)) is None
    store.settle(first, Done())
    assert claim(other, two, who=holder(2)) is not None


def test_a_full_queue_does_not_stand_in_the_way(store: Store) -> None:
    add(store, "a")
    add(store, "a")
    add(store, "b")
    served = (Rules("a", concurrency=1), Rules("b"))
    assert claimed(store, *served).job.queue == "a"
    assert claimed(store, *served).job.queue == "b"
    assert claim(store, *served) is None


def test_a_lost_job_counts_against_the_limit_and_may_be_taken_over(store: Store, clock: TwoHands) -> None:
    one = Rules("mail", concurrency=1)
    lost = add(store)
    add(store)
    claimed(store, one)
    clock.pass_by(31)
    assert len(store.expire_leases()) == 1
    assert claimed(store, one, who=holder(2)).job.id == lost
    assert claim(store, one, who=holder(3)) is None


def test_a_limit_that_was_lowered_holds_for_lost_jobs_too(store: Store, clock: TwoHands) -> None:
    store.enqueue([NewJob("mail")] * 3)
    held = [claimed(store, Rules("mail", concurrency=3), who=holder(number)) for number in range(3)]
    store.end_leases([holder(0).uid])
    one = Rules("mail", concurrency=1)
    assert claim(store, one, who=holder(9)) is None
    assert store.outlook([one], limit=9).due == 0
    store.settle(held[1], Done())
    store.settle(held[2], Done())
    assert claimed(store, one, who=holder(9)).job.id == held[0].job.id


def test_a_lost_job_comes_first(store: Store, clock: TwoHands) -> None:
    lost = add(store, priority=-100)
    claimed(store)
    add(store, priority=100)
    clock.pass_by(31)
    store.expire_leases()
    assert claimed(store).job.id == lost


def test_used_up_attempts_bury_instead_of_run(store: Store, clock: TwoHands) -> None:
    rules = Rules("mail", max_attempts=2)
    job_id = add(store)
    for _ in range(2):
        store.settle(claimed(store, rules), Retry(clock.wall(), "exit status 1"), failure())
    taken = store.claim(holder(), [rules])
    assert taken.claim is None
    assert [(one.id, one.attempts) for one in taken.buried] == [(job_id, 2)]
    dead = seen(store, job_id)
    assert dead.state is State.DEAD
    assert dead.reason == "attempts used up: 2 of 2 attempts"
    assert dead.last_error == "exit status 1"


def test_a_jobs_own_limit_wins(store: Store, clock: TwoHands) -> None:
    add(store, max_attempts=1)
    first = claimed(store, Rules("mail", max_attempts=9))
    assert first.max_attempts == 1
    store.settle(first, Retry(clock.wall(), "no"))
    assert claim(store, Rules("mail", max_attempts=9)) is None


def test_a_job_that_keeps_losing_its_worker_is_buried(store: Store, clock: TwoHands) -> None:
    rules = Rules("mail", max_attempts=20, max_crashes=3)
    job_id = add(store)
    for number in range(1, 4):
        claimed(store, rules, who=holder(number))
        assert len(store.end_leases([holder(number).uid])) == 1
    assert claim(store, rules) is None
    dead = seen(store, job_id)
    assert dead.reason == "worker lost: 3 of 3 crashes"
    assert (dead.attempts, dead.crashes) == (3, 3)
    assert [attempt.outcome for attempt in dead.history] == ["lost"] * 3


def test_a_lost_last_attempt_is_buried(store: Store) -> None:
    rules = Rules("mail", max_attempts=1)
    job_id = add(store)
    claimed(store, rules)
    store.end_leases([holder().uid])
    assert claim(store, rules) is None
    assert seen(store, job_id).reason == "worker lost: 1 of 1 attempts"


def test_too_long_and_not_json_are_buried_with_the_reason(store: Store) -> None:
    rules = Rules("mail", max_payload=10, json=True)
    long = add(store, payload='"' + "ü" * 5 + '"')
    broken = add(store, payload="{nope")
    fine = add(store, payload='{"a": 1}')
    taken = store.claim(holder(), [rules])
    assert taken.claim is not None
    assert taken.claim.job.id == fine
    assert {one.id: one.reason for one in taken.buried} == {
        long: "the payload has 12 bytes, over the queue's limit of 10",
        broken: "the payload is not valid JSON",
    }
    assert all(seen(store, one.id).state is State.DEAD for one in taken.buried)


def test_a_limit_is_in_bytes_and_inclusive(store: Store) -> None:
    add(store, payload="ü" * 5)
    assert claim(store, Rules("mail", max_payload=10)) is not None


def test_a_heap_of_unfit_jobs_is_buried_in_bounded_steps(store: Store) -> None:
    store.enqueue([NewJob("mail", "nope")] * 120)
    fine = add(store, payload="1")
    steps, taken = 0, store.claim(holder(), [Rules("mail", json=True)])
    while taken.claim is None and taken.buried:
        steps += 1
        taken = store.claim(holder(), [Rules("mail", json=True)])
    assert taken.claim is not None
    assert taken.claim.job.id == fine
    assert steps == 2


def test_a_blocked_queue_is_passed_over_then_tried_by_one(store: Store, clock: TwoHands) -> None:
    for _ in range(4):
        add(store, "a")
    add(store, "b")
    store.settle(claimed(store, "a", "b"), Release("cannot start", block=30.0))
    assert claimed(store, "a", "b").job.queue == "b"
    assert claim(store, "a", "b") is None
    clock.pass_by(30)
    probe = claimed(store, "a", "b")
    assert (probe.job.queue, probe.blocks) == ("a", 1)
    assert claim(store, "a", "b") is None
    store.unblock("a")
    assert claimed(store, "a", "b").blocks == 0


def test_a_probe_that_fails_blocks_again_and_counts(store: Store, clock: TwoHands) -> None:
    add(store)
    for blocks in range(3):
        found = claimed(store)
        assert found.blocks == blocks
        store.settle(found, Release("cannot start", block=30.0))
        clock.pass_by(30)


def test_a_probe_of_before_a_queue_was_freed_does_not_hold_it_again(store: Store, clock: TwoHands) -> None:
    add(store)
    store.settle(claimed(store), Release("cannot start", block=30.0))
    clock.pass_by(30)
    probe = claimed(store)
    store.unblock_all(["mail"])
    settled = store.settle(probe, Release("cannot start", block=60.0))
    assert settled.verdict == Release("cannot start")
    assert claimed(store).blocks == 0


def test_workers_that_fail_together_are_one_failure(store: Store, clock: TwoHands) -> None:
    store.enqueue([NewJob("mail")] * 3)
    together = [claimed(store, who=holder(number)) for number in range(3)]
    for one in together:
        store.settle(one, Release("cannot start", block=30.0))
    clock.pass_by(30)
    assert claimed(store).blocks == 1


def test_a_block_does_not_outlast_a_clock_stepped_back(store: Store, clock: TwoHands) -> None:
    add(store)
    store.settle(claimed(store), Release("cannot start", block=30.0))
    clock.step_wall(-7200)
    store.enqueue([NewJob("mail", run_at=0.0)])
    assert claim(store) is not None


def test_a_probe_whose_worker_dies_frees_the_queue_by_itself(store: Store, clock: TwoHands) -> None:
    add(store)
    store.settle(claimed(store), Release("cannot start", block=30.0))
    clock.pass_by(30)
    claimed(store, who=holder(2))
    store.end_leases([holder(2).uid])
    assert claim(store) is None
    clock.pass_by(10)
    assert claim(store) is not None


def test_the_stop_flag_keeps_claims_from_beginning(backend: Backend) -> None:
    stopping = False
    store = backend.open(stop=lambda: stopping)
    add(store)
    held = claimed(store)
    add(store)
    stopping = True
    with pytest.raises(Interrupted):
        store.claim(holder(), [Rules("mail")])
    settled = store.settle(held, Done(), then=(holder(), [Rules("mail")]))
    assert settled.kept
    assert settled.next.claim is None


def test_a_stop_that_comes_with_the_lock_is_heeded(backend: Backend) -> None:
    answers = iter([False, True])
    store = backend.open(stop=lambda: next(answers))
    add(store)
    with pytest.raises(Interrupted):
        store.claim(holder(), [Rules("mail")])


def test_a_claim_that_finds_nothing_changes_nothing(store: Store) -> None:
    add(store, "strange")
    store.enqueue([NewJob("mail", delay=60)])
    before = list(store.find(Selection()))
    assert store.claim(holder(), [Rules("mail"), Rules("empty")]) == store.claim(holder(), [])
    assert list(store.find(Selection())) == before


def test_dead_jobs_are_not_claimed(store: Store) -> None:
    add(store)
    store.settle(claimed(store), Bury("no"))
    assert claim(store) is None
