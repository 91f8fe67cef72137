"""Jobs are found in the order that is asked for, however many they are."""

import pytest

from sqlqd.model import Bury, Done, NewJob, Order, Rules, Selection, State
from sqlqd.store.base import Store
from tests.support.clocks import TwoHands
from tests.support.stores import add, claimed, holder


def found(store: Store, order: Order, **wanted: object) -> list[str]:
    selection = Selection(**wanted)  # type: ignore[arg-type] # each test names what it means
    return [record.id for record in store.find(selection, order=order)]


def test_the_newest_first_is_the_order_of_arrival_backwards(store: Store) -> None:
    dead, done = add(store), add(store)
    store.settle(claimed(store), Bury("no"))
    store.settle(claimed(store), Done())
    live = [one.id for one in store.enqueue([NewJob("mail")] * 450)]
    assert found(store, Order.OLDEST) == [*live, dead, done]
    assert found(store, Order.NEWEST) == [*live[::-1], dead, done]
    assert found(store, Order.NEWEST, limit=3) == live[:-4:-1]


def test_by_due_and_by_priority(store: Store, clock: TwoHands) -> None:
    now = clock.wall()
    jobs = [
        NewJob(queue, id=f"{queue}-{priority:+}-{number}-{later}", priority=priority, run_at=now + later)
        for later in (50, 0, 900)
        for number in range(150)
        for queue, priority in (("b", 0), ("a", 5), ("a", -5))
    ]
    store.enqueue(jobs)
    add(store, "c", id="running")
    claimed(store, "c")
    add(store, "c", id="lost")
    claimed(store, "c", who=holder(2))
    store.end_leases([holder(2).uid])
    add(store, "d", id="dead")
    store.settle(claimed(store, "d", who=holder(3)), Bury("no"))
    live = frozenset({State.READY, State.SCHEDULED, State.RUNNING})
    by_due = found(store, Order.DUE, states=live)
    by_priority = found(store, Order.PRIORITY, states=live)
    held = ["running", "lost"]
    assert by_due[:2] == by_priority[:2] == held
    times = {job.id or "": (job.run_at or 0, -job.priority) for job in jobs}
    assert sorted(by_due[2:]) == sorted(by_priority[2:]) == sorted(times)
    assert [times[one][0] for one in by_due[2:]] == sorted(at for at, _ in times.values())
    ranks = [(times[one][1], times[one][0]) for one in by_priority[2:]]
    assert ranks == sorted(ranks)
    first = [one for one in by_due if one.startswith("b")]
    assert found(store, Order.DUE, states=live, queue="b") == first
    assert found(store, Order.DUE, states=live, queue="b", limit=7) == first[:7]
    assert found(store, Order.DUE, states=frozenset({State.RUNNING})) == ["running"]
    scheduled = [one for one in by_due if times.get(one, (0, 0))[0] > now]
    assert found(store, Order.DUE, states=frozenset({State.SCHEDULED})) == scheduled


def test_by_priority_of_one_queue_is_how_it_is_claimed(store: Store, clock: TwoHands) -> None:
    for priority in (0, 9, -9):
        store.enqueue([NewJob("mail", priority=priority, run_at=clock.wall() - late) for late in (3, 9, 9)])
    listed = found(store, Order.PRIORITY, queue="mail", states=frozenset({State.READY}))
    assert listed == [claimed(store, Rules("mail"), who=holder(one)).id for one in range(9)]


@pytest.mark.parametrize("order", list(Order))
def test_nothing_is_found_where_nothing_is(store: Store, order: Order) -> None:
    assert found(store, order) == []


def test_those_that_live_no_longer_are_told_in_the_order_of_their_names(store: Store) -> None:
    dead, done = add(store), add(store)
    store.settle(claimed(store), Bury("no"))
    store.settle(claimed(store), Done())
    live = [one.id for one in store.enqueue([NewJob("mail")] * 2500)]
    claimed(store)
    assert store.not_live([*live[:1200], dead, *live[1200:], "unknown", done]) == [dead, "unknown", done]
    assert store.not_live([]) == []
