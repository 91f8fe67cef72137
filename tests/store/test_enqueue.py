"""What producers rely on."""

import math

import pytest

from sqlqd.model import Done, NewJob, Selection, State
from sqlqd.store.base import JobRefused, Store
from tests.support.clocks import TwoHands
from tests.support.stores import add, claim, claimed, seen


def test_a_job_comes_out_as_it_went_in(store: Store, clock: TwoHands) -> None:
    payload = 'two lines\n"quoted" ü \U0001f980 \x01'
    job_id = add(store, "mail", payload, priority=7, key="k", max_attempts=3)
    job = claimed(store).job
    assert (job.id, job.queue, job.payload, job.priority, job.key, job.max_attempts, job.attempts) == (
        job_id,
        "mail",
        payload,
        7,
        "k",
        3,
        1,
    )
    assert job.created_at == job.run_at == clock.wall()
    assert job.last_error is None


def test_ids_are_32_hexadecimal_digits_and_new(store: Store) -> None:
    ids = {added.id for added in store.enqueue([NewJob("mail")] * 100)}
    assert len(ids) == 100
    assert all(len(job_id) == 32 and set(job_id) <= set("0123456789abcdef") for job_id in ids)


def test_an_id_may_be_brought_and_only_once(store: Store) -> None:
    assert add(store, id="order-17") == "order-17"
    with pytest.raises(JobRefused, match="id"):
        add(store, id="order-17")


def test_all_or_none(store: Store) -> None:
    with pytest.raises(JobRefused):
        store.enqueue([NewJob("mail"), NewJob("mail", priority=101), NewJob("mail")])
    assert list(store.find(Selection())) == []


def test_answers_come_in_order(store: Store) -> None:
    added = store.enqueue([NewJob("mail", str(number)) for number in range(50)])
    assert [seen(store, one.id).payload for one in added] == [str(number) for number in range(50)]


def test_none_at_all_is_no_error(store: Store) -> None:
    assert store.enqueue([]) == []


def test_a_delay_counts_from_now_and_run_at_wins(store: Store, clock: TwoHands) -> None:
    late, fixed = add(store, delay=30), add(store, delay=30, run_at=clock.wall() + 90)
    times = {job_id: seen(store, job_id).run_at for job_id in (late, fixed)}
    assert times == {late: clock.wall() + 30, fixed: clock.wall() + 90}


def test_a_key_is_held_while_its_job_lives(store: Store) -> None:
    first = store.enqueue([NewJob("mail", "a", key="k")])[0]
    again = store.enqueue([NewJob("mail", "b", key="k")])[0]
    assert first.created
    assert not again.created
    assert again.id == first.id
    running = claimed(store)
    assert store.enqueue([NewJob("mail", "c", key="k")])[0].id == first.id
    assert running.job.payload == "a"
    store.settle(running, Done())
    assert store.enqueue([NewJob("mail", "d", key="k")])[0].created


def test_a_key_is_a_queues_own_and_twice_in_one_batch_is_one(store: Store) -> None:
    mine, twice, theirs = store.enqueue(
        [NewJob("mail", key="k"), NewJob("mail", key="k"), NewJob("other", key="k")]
    )
    assert (mine.created, twice.created, theirs.created) == (True, False, True)
    assert mine.id == twice.id != theirs.id


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (NewJob(""), "queue"),
        (NewJob("q" * 201), "queue"),
        (NewJob("a\0b"), "queue"),
        (NewJob("mail", "a\0b"), "payload"),
        (NewJob("mail", priority=101), "priority"),
        (NewJob("mail", priority=-101), "priority"),
        (NewJob("mail", priority=10**30), "stored"),
        (NewJob("mail", run_at=math.nan), "run_at"),
        (NewJob("mail", run_at=math.inf), "run_at"),
        (NewJob("mail", delay=-math.inf), "run_at"),
        (NewJob("mail", run_at=1.8e12), "run_at"),
        (NewJob("mail", run_at=-1.0), "run_at"),
        (NewJob("mail", key=""), "key"),
        (NewJob("mail", key="k" * 501), "key"),
        (NewJob("mail", max_attempts=0), "max_attempts"),
        (NewJob("mail", id=""), "id"),
        (NewJob("mail", "\udcff"), "stored"),
    ],
)
def test_what_could_never_run_is_refused_by_name(store: Store, job: NewJob, words: str) -> None:
    with pytest.raises(JobRefused, match=words):
        store.enqueue([job])
    assert claim(store) is None


def test_a_new_job_is_ready_or_scheduled(store: Store) -> None:
    now, later = add(store), add(store, delay=60)
    assert {job.id: job.state for job in store.find(Selection())} == {
        now: State.READY,
        later: State.SCHEDULED,
    }
