"""The ends of a claim, and the fence around them."""

import pytest

from sqlqd.model import (
    Bury,
    Cancel,
    Claim,
    Done,
    Ended,
    NewJob,
    Outcome,
    Release,
    Retry,
    Rules,
    Selection,
    State,
    Verdict,
)
from sqlqd.store.base import Store
from tests.support.clocks import TwoHands
from tests.support.stores import add, claim, claimed, failure, holder, seen

VERDICTS: list[Verdict] = [Done(), Retry(1.0, "no"), Bury("no"), Release("stopping"), Cancel()]


def settled(store: Store, verdict: Verdict, outcome: Outcome | None = None) -> Claim:
    """A job of the queue `mail`, claimed and settled so."""
    held = claimed(store)
    assert store.settle(held, verdict, outcome).kept
    return held


def test_done_leaves_a_record(store: Store, clock: TwoHands) -> None:
    job_id = add(store, key="k")
    settled(store, Done(), Outcome(Ended.EXITED, clock.wall(), 2.5, code=0))
    record = seen(store, job_id)
    assert (record.state, record.outcome, record.queue, record.key) == (State.DONE, "done", "mail", "k")
    assert (record.attempts, record.ended_at, record.duration, record.exit_code) == (1, clock.wall(), 2.5, 0)


def test_done_leaves_none_where_none_is_wanted(store: Store) -> None:
    job_id = add(store)
    store.settle(claimed(store, Rules("mail", keep_done=0.0)), Done())
    assert store.record(job_id) is None


def test_what_was_cancelled_leaves_one_all_the_same(store: Store) -> None:
    job_id = add(store)
    store.settle(claimed(store, Rules("mail", keep_done=0.0)), Cancel())
    assert seen(store, job_id).outcome == "cancelled"


def test_an_id_that_comes_again_has_its_newest_record(store: Store) -> None:
    for _ in range(2):
        add(store, id="again")
        settled(store, Done())
    assert len(list(store.find(Selection()))) == 1


def test_retry_waits_and_remembers_why(store: Store, clock: TwoHands) -> None:
    job_id = add(store)
    at = clock.wall() + 10
    settled(store, Retry(at, "exit status 3"), failure(3, output="it said\nthis", started_at=clock.wall()))
    job = seen(store, job_id)
    assert (job.state, job.attempts, job.run_at, job.locked_by) == (State.SCHEDULED, 1, at, None)
    assert job.last_error == "exit status 3\nit said\nthis"
    (attempt,) = job.history
    assert (attempt.number, attempt.outcome, attempt.exit_code, attempt.error) == (
        1,
        "exited",
        3,
        "exit status 3\nit said\nthis",
    )
    clock.pass_by(10)
    assert claimed(store).job.last_error == "exit status 3\nit said\nthis"


def test_a_retry_without_an_outcome_is_one(store: Store, clock: TwoHands) -> None:
    job_id = add(store)
    settled(store, Retry(clock.wall(), "put off"))
    assert seen(store, job_id).last_error == "put off"


@pytest.mark.parametrize("at", [float("inf"), -5.0, 1e300])
def test_an_absurd_time_is_brought_within_what_can_be_stored(store: Store, at: float) -> None:
    job_id = add(store)
    settled(store, Retry(at, "no"))
    assert 0.0 <= (seen(store, job_id).run_at or 0.0) <= 1e11


def test_bury_moves_the_whole_job(store: Store, clock: TwoHands) -> None:
    job_id = add(store, payload="p", priority=3, key="k", max_attempts=5)
    settled(store, Bury("exit status 100"), failure(100, output="tail"))
    dead = seen(store, job_id)
    assert (dead.state, dead.reason, dead.died_at) == (State.DEAD, "exit status 100", clock.wall())
    assert (dead.payload, dead.priority, dead.key, dead.max_attempts, dead.attempts) == ("p", 3, "k", 5, 1)
    assert dead.last_error == "exit status 100\ntail"
    assert (dead.locked_by, dead.locked_until) == (None, None)
    assert [attempt.exit_code for attempt in dead.history] == [100]
    assert len(list(store.find(Selection()))) == 1


def test_an_id_that_is_dead_already_can_be_buried(store: Store) -> None:
    for reason in ("first", "second"):
        add(store, id="same")
        settled(store, Bury(reason))
    (dead,) = store.find(Selection())
    assert dead.reason == "second"


def test_release_gives_the_attempt_back(store: Store, clock: TwoHands) -> None:
    job_id = add(store)
    run_at = seen(store, job_id).run_at
    settled(store, Release("stopping"))
    job = seen(store, job_id)
    assert (job.state, job.attempts, job.run_at, job.history) == (State.READY, 0, run_at, ())
    settled(store, Release("no processes", at=clock.wall() + 5))
    assert (seen(store, job_id).attempts, seen(store, job_id).run_at) == (0, clock.wall() + 5)


def test_what_a_job_said_that_put_itself_off_is_kept(store: Store, clock: TwoHands) -> None:
    job_id = add(store)
    settled(store, Release("stopping"), failure(output="unheard"))
    assert seen(store, job_id).last_error is None
    settled(store, Release("exit 75", at=clock.wall() + 5, told=True), failure(output="busy"))
    job = seen(store, job_id)
    assert (job.attempts, job.last_error) == (0, "exit 75\nbusy")
    assert [record.id for record in store.retry(Selection(ids=(job_id,))).jobs] == [job_id]
    assert seen(store, job_id).state is State.READY


def test_release_gives_one_attempt_back_and_no_more(store: Store, clock: TwoHands) -> None:
    job_id = add(store)
    for expected in (1, 2, 3):
        settled(store, Retry(clock.wall(), "no"))
        settled(store, Release("stopping"))
        assert seen(store, job_id).attempts == expected


def test_cancel_is_recorded_as_such(store: Store) -> None:
    job_id = add(store)
    settled(store, Cancel())
    assert (seen(store, job_id).state, seen(store, job_id).outcome) == (State.DONE, "cancelled")


def test_the_history_goes_with_the_job(store: Store, clock: TwoHands) -> None:
    add(store, id="one")
    settled(store, Retry(clock.wall(), "no"), failure())
    settled(store, Done())
    add(store, id="one")
    assert seen(store, "one").history == ()


def test_the_history_is_bounded(store: Store, clock: TwoHands) -> None:
    job_id = add(store, max_attempts=1000)
    for _ in range(60):
        settled(store, Retry(clock.wall(), "no"), failure())
    numbers = [attempt.number for attempt in seen(store, job_id).history]
    assert numbers == list(range(11, 61))


def test_text_that_cannot_be_stored_is_made_fit(store: Store) -> None:
    job_id = add(store)
    settled(store, Bury("a\0b\udcff"), failure(output="\0" * 5))
    dead = seen(store, job_id)
    assert "\0" not in f"{dead.reason}{dead.last_error}"
    assert (dead.reason or "").startswith("a")


@pytest.mark.parametrize("verdict", VERDICTS, ids=lambda verdict: type(verdict).__name__)
def test_a_stale_token_changes_nothing(store: Store, other: Store, clock: TwoHands, verdict: Verdict) -> None:
    add(store)
    add(store)
    stale = claimed(store)
    clock.pass_by(31)
    store.expire_leases()
    fresh = claimed(other, who=holder(2))
    assert fresh.job.id == stale.job.id
    before = list(store.find(Selection()))
    result = store.settle(stale, verdict, failure(), then=(holder(), [Rules("mail")]))
    assert not result.kept
    assert result.next.claim is None
    assert store.renew(stale, 30.0) is None
    assert list(store.find(Selection())) == before
    assert other.settle(fresh, Done()).kept


@pytest.mark.parametrize("verdict", VERDICTS, ids=lambda verdict: type(verdict).__name__)
def test_a_claim_ends_once(store: Store, verdict: Verdict) -> None:
    add(store)
    held = claimed(store)
    assert store.settle(held, verdict).kept
    before = list(store.find(Selection()))
    for again in VERDICTS:
        assert not store.settle(held, again).kept
    assert list(store.find(Selection())) == before


def test_the_token_of_an_earlier_claim_of_ones_own_is_stale_too(store: Store, clock: TwoHands) -> None:
    add(store)
    first = claimed(store)
    store.settle(first, Retry(clock.wall(), "no"))
    second = claimed(store)
    assert not store.settle(first, Done()).kept
    assert store.settle(second, Done()).kept


def test_the_next_claim_comes_in_the_same_step(store: Store) -> None:
    served = (Rules("a"), Rules("b"))
    store.enqueue([NewJob("a"), NewJob("a"), NewJob("b")])
    held: Claim | None = claimed(store, *served)
    order = []
    while held is not None:
        order.append(held.job.queue)
        held = store.settle(held, Done(), then=(holder(), served)).next.claim
    assert order == ["a", "b", "a"]


def test_a_job_that_fails_is_not_its_own_next(store: Store, clock: TwoHands) -> None:
    add(store)
    held = claimed(store)
    result = store.settle(held, Retry(clock.wall() + 1, "no"), then=(holder(), [Rules("mail")]))
    assert result.kept
    assert result.next.claim is None


def test_a_settle_may_bury_others_on_the_way_to_the_next(store: Store) -> None:
    rules = Rules("mail", json=True)
    store.enqueue([NewJob("mail", "1"), NewJob("mail", "nope"), NewJob("mail", "2")])
    result = store.settle(claimed(store, rules), Done(), then=(holder(), [rules]))
    assert result.next.claim is not None
    assert result.next.claim.job.payload == "2"
    assert [one.reason for one in result.next.buried] == ["the payload is not valid JSON"]
    assert claim(store, rules) is None
