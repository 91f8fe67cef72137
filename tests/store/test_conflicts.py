"""What becomes of a new job whose key a live one has: kept out, instead of it, behind it, or refused."""

import pytest

from sqlqd.model import Bury, Conflict, Done, Enqueued, NewJob, Retry, Selection, State
from sqlqd.store.base import KeyTaken, Store
from tests.support.clocks import TwoHands
from tests.support.stores import claim, claimed, seen


def enqueue(store: Store, payload: str, how: Conflict = Conflict.KEEP, **facts: float) -> Enqueued:
    return store.enqueue([NewJob("mail", payload, key="k", on_conflict=how, **facts)])[0]  # type: ignore[arg-type]  # a test's own fields


def test_an_error_changes_nothing(store: Store) -> None:
    first = enqueue(store, "old")
    with pytest.raises(KeyTaken, match=first.id):
        store.enqueue([NewJob("data"), NewJob("mail", "new", key="k", on_conflict=Conflict.ERROR)])
    assert [job.payload for job in store.find(Selection())] == ["old"]


def test_one_that_waits_is_replaced_in_its_place(store: Store, clock: TwoHands) -> None:
    first = enqueue(store, "old", delay=60.0)
    assert enqueue(store, "new", Conflict.REPLACE, delay=90.0) == Enqueued(first.id, created=False)
    record = seen(store, first.id)
    assert (record.payload, record.run_at) == ("new", clock.wall() + 90.0)
    assert enqueue(store, "newer", Conflict.NEXT) == Enqueued(first.id, created=False)
    assert seen(store, first.id).payload == "new"


@pytest.mark.parametrize("how", [Conflict.NEXT, Conflict.REPLACE])
@pytest.mark.parametrize("end", ["done", "dead", "cancelled"])
def test_behind_one_that_runs_there_is_one_more_and_only_one(store: Store, how: Conflict, end: str) -> None:
    enqueue(store, "running")
    held = claimed(store)
    second = enqueue(store, "change", how)
    assert second.created
    assert enqueue(store, "another change", how) == Enqueued(second.id, created=False)
    assert claim(store) is None
    assert seen(store, second.id).state is State.SCHEDULED
    store.settle(held, Retry(1.0, "exit 1"))
    held = claimed(store)
    assert held.payload == "running"
    match end:
        case "done":
            store.settle(held, Done())
        case "dead":
            store.settle(held, Bury("used up"))
        case _:
            store.settle(held, Retry(1.0, "exit 1"))
            store.cancel(Selection(ids=(held.id,)))
    following = claimed(store)
    assert following.id == second.id
    assert following.payload == ("change" if how is Conflict.NEXT else "another change")
    # It is the key's own now.
    assert enqueue(store, "x") == Enqueued(second.id, created=False)
    store.settle(following, Done())
    assert claim(store) is None


def test_one_that_follows_may_be_taken_away(store: Store) -> None:
    enqueue(store, "running")
    held = claimed(store)
    second = enqueue(store, "change", Conflict.NEXT)
    assert len(store.cancel(Selection(ids=(second.id,))).jobs) == 1
    store.settle(held, Done())
    assert claim(store) is None
