"""The operator's verbs."""

from typing import Any

import pytest

from sqlqd.model import Bury, Done, NewJob, Record, Retry, Selection, State
from sqlqd.store.base import Store, StoreError
from tests.support.clocks import TwoHands
from tests.support.stores import add, claim, claimed, failure, holder, seen


def chosen(store: Store, **conditions: Any) -> list[str | None]:
    """Payloads of the jobs of a selection."""
    return [job.payload for job in store.find(Selection(**conditions))]


def dead(store: Store, payload: str = "", reason: str = "no", queue: str = "mail", **facts: Any) -> str:
    """A job that died; its id."""
    job_id = add(store, queue, payload, priority=100, **facts)
    assert store.settle(claimed(store, queue), Bury(reason), failure()).kept
    return job_id


def waiting(store: Store, clock: TwoHands, **facts: Any) -> str:
    """A job in backoff; its id."""
    job_id = add(store, priority=100, **facts)
    assert store.settle(claimed(store), Retry(clock.wall() + 600, "exit status 1"), failure()).kept
    return job_id


def test_find_by_each_condition(store: Store, clock: TwoHands) -> None:
    dead(store, "d", reason="exit status 7")
    claimed(store, "other") if add(store, "other", "running") else None
    add(store, payload="old", key="k")
    clock.pass_by(100)
    add(store, payload="new")
    add(store, payload="later", delay=60)
    assert chosen(store) == ["running", "old", "new", "later", "d"]
    assert chosen(store, queue="mail") == ["old", "new", "later", "d"]
    assert chosen(store, states=frozenset({State.READY})) == ["old", "new"]
    assert chosen(store, states=frozenset({State.SCHEDULED, State.DEAD})) == ["later", "d"]
    assert chosen(store, states=frozenset({State.RUNNING})) == ["running"]
    assert chosen(store, key="k") == ["old"]
    assert chosen(store, error="status 7") == ["d"]
    assert chosen(store, older_than=100) == ["running", "old", "d"]
    assert chosen(store, newer_than=50) == ["new", "later"]
    assert chosen(store, queue="mail", limit=2) == ["old", "new"]
    assert chosen(store, limit=0) == []
    assert chosen(store, queue="none") == []


def test_find_goes_on_over_many_pages(store: Store) -> None:
    store.enqueue([NewJob("mail", str(number)) for number in range(450)])
    assert chosen(store) == [str(number) for number in range(450)]
    assert chosen(store, limit=401)[-1] == "400"


def test_find_holds_no_view_between_pages(store: Store) -> None:
    store.enqueue([NewJob("mail")] * 450)
    reading = store.find(Selection())
    next(reading)
    store.enqueue([NewJob("mail")] * 300)
    assert store.checkpoint() == 0
    assert len(list(reading)) == 749


def test_ids_and_their_prefixes(store: Store) -> None:
    add(store, payload="a", id="abcdef0001")
    add(store, payload="b", id="abcdef0002")
    dead(store, "c", id="abc")
    assert chosen(store, ids=("abcdef0001", "abc", "absent")) == ["a", "c"]
    assert chosen(store, ids=("abcdef0002", "abcdef0002")) == ["b"]
    assert chosen(store, ids=("abcde",)) == []
    with pytest.raises(StoreError, match="several"):
        list(store.find(Selection(ids=("abcdef",))))
    with pytest.raises(StoreError, match="several"):
        store.record("abcdef00")
    assert seen(store, "abcdef0002").payload == "b"
    assert store.record("nothing") is None


def test_a_whole_id_is_meant_before_a_longer_one(store: Store) -> None:
    add(store, payload="short", id="abcdef")
    add(store, payload="long", id="abcdef0")
    assert seen(store, "abcdef").payload == "short"


def test_wildcards_are_plain_characters(store: Store) -> None:
    add(store, id="______", payload="a")
    add(store, id="%%%%%%", payload="b")
    assert chosen(store, ids=("______",)) == ["a"]
    assert chosen(store, ids=("%%%%%%x",)) == []


def test_the_dead_live_again_with_fresh_attempts(store: Store, clock: TwoHands) -> None:
    job_id = dead(store, "p", key="k", max_attempts=4)
    clock.pass_by(500)
    touched = store.retry(Selection(ids=(job_id,)))
    assert [job.id for job in touched.jobs] == [job_id]
    assert touched.skipped == ()
    assert [job.state for job in store.find(Selection())] == [State.READY]
    job = claimed(store).job
    assert (job.id, job.payload, job.key, job.attempts, job.max_attempts) == (job_id, "p", "k", 1, 4)
    assert (job.run_at, job.crashes, job.last_error) == (clock.wall(), 0, "no")


def test_those_in_backoff_are_due_now(store: Store, clock: TwoHands) -> None:
    job_id = waiting(store, clock)
    add(store, delay=600)
    assert [job.id for job in store.retry(Selection(queue="mail")).jobs] == [job_id]
    assert claimed(store).job.attempts == 2
    assert claim(store) is None


def test_retry_says_what_it_leaves_alone(store: Store, clock: TwoHands) -> None:
    lost = dead(store, key="k")
    live = add(store, key="k", priority=50)
    running = claimed(store).job.id
    later = add(store, delay=60)
    touched = store.retry(Selection(ids=(lost, live, later, "nothing", running)))
    assert touched.jobs == ()
    assert dict(touched.skipped) == {
        lost: f"its key is held by the live job {live}",
        running: "is running",
        later: "is scheduled and has not failed",
        "nothing": "no such job",
    }


def test_retry_of_two_dead_jobs_with_one_key_revives_one(store: Store) -> None:
    first, second = dead(store, key="k"), dead(store, key="k")
    touched = store.retry(Selection(queue="mail"))
    assert [job.id for job in touched.jobs] == [first]
    assert touched.skipped == ((second, f"its key is held by the live job {first}"),)


def test_retry_skips_an_id_that_lives(store: Store) -> None:
    dead(store, id="same")
    add(store, id="same")
    touched = store.retry(Selection(states=frozenset({State.DEAD})))
    assert touched.skipped == (("same", "a live job has its id"),)


def test_cancel_takes_what_waits(store: Store) -> None:
    running = add(store, priority=9)
    held = claimed(store)
    ready, later = add(store, payload="p"), add(store, delay=60)
    touched = store.cancel(Selection(queue="mail"))
    assert {job.id for job in touched.jobs} == {running, ready, later}
    assert next(job.payload for job in touched.jobs if job.id == ready) == "p"
    assert seen(store, running).state is State.RUNNING
    assert (seen(store, ready).state, seen(store, ready).outcome) == (State.DONE, "cancelled")
    assert store.settle(held, Done()).kept
    assert claim(store) is None


def test_cancel_of_a_lost_job_shuts_its_old_holder_out(store: Store) -> None:
    add(store)
    held = claimed(store)
    store.end_leases([holder().uid])
    assert len(store.cancel(Selection(queue="mail")).jobs) == 1
    assert not store.settle(held, Done()).kept


def test_cancel_does_not_touch_the_dead(store: Store) -> None:
    job_id = dead(store)
    assert store.cancel(Selection(ids=(job_id,))).skipped == ((job_id, "is dead"),)
    assert store.cancel(Selection(queue="mail")).jobs == ()


def test_purge_deletes_the_dead_with_their_history(store: Store) -> None:
    job_id = dead(store, id="one")
    add(store)
    assert [job.id for job in store.purge(Selection(queue="mail")).jobs] == [job_id]
    assert store.record("one") is None
    add(store, id="one")
    assert seen(store, "one").history == ()


def test_purge_deletes_records_where_asked(store: Store) -> None:
    done = add(store)
    store.settle(claimed(store), Done())
    dead(store)
    touched = store.purge(Selection(states=frozenset({State.DONE})))
    assert [job.id for job in touched.jobs] == [done]
    assert [job.state for job in store.find(Selection())] == [State.DEAD]


def test_purge_by_age_goes_by_when_they_died(store: Store, clock: TwoHands) -> None:
    dead(store, "old")
    clock.pass_by(1000)
    dead(store, "young")
    assert [job.payload for job in store.purge(Selection(older_than=500)).jobs] == ["old"]


@pytest.mark.parametrize("verb", ["retry", "cancel", "purge"])
def test_a_dry_run_tells_and_changes_nothing(store: Store, clock: TwoHands, verb: str) -> None:
    dead(store)
    waiting(store, clock)
    add(store)
    before = list(store.find(Selection()))
    told = getattr(store, verb)(Selection(queue="mail"), dry_run=True)
    assert list(store.find(Selection())) == before
    assert told.jobs == getattr(store, verb)(Selection(queue="mail")).jobs != ()


def test_a_limit_bounds_what_is_touched(store: Store) -> None:
    store.enqueue([NewJob("mail", str(number)) for number in range(450)])
    touched: tuple[Record, ...] = store.cancel(Selection(queue="mail", limit=210)).jobs
    assert [job.payload for job in touched] == [str(number) for number in range(210)]
    assert len(store.cancel(Selection(queue="mail")).jobs) == 240


def test_many_ids_at_once(store: Store) -> None:
    ids = tuple(one.id for one in store.enqueue([NewJob("mail")] * 450))
    assert tuple(job.id for job in store.cancel(Selection(ids=ids)).jobs) == ids


def test_conditions_hold_beside_ids(store: Store) -> None:
    job_id = add(store, "mail")
    touched = store.cancel(Selection(ids=(job_id,), queue="other"))
    assert touched.jobs == ()
    assert touched.skipped == ((job_id, "is not in the selection"),)
