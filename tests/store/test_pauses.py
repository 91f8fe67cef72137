"""A paused queue gives out nothing, and all else stays as it was."""

import pytest

from sqlqd.model import Done, Pause, Rules
from sqlqd.store.base import Store
from tests.support.clocks import TwoHands
from tests.support.stores import add, claim, claimed, holder

BOTH = (Rules("mail"), Rules("data"))


@pytest.mark.parametrize("paused", [["mail"], [""], ["mail", ""]])
def test_it_gives_out_nothing(store: Store, paused: list[str]) -> None:
    add(store)
    held = claimed(store)
    waiting = add(store)
    store.pause(paused)
    assert claim(store) is None
    assert store.outlook(BOTH, limit=9).due == 0
    other = add(store, queue="data")
    taken = store.claim(holder(), BOTH).claim
    assert (taken.id if taken else None) == (None if "" in paused else other)
    # What runs, runs on.
    assert store.renew(held, 30.0)
    assert store.settle(held, Done(), then=(holder(), (Rules("mail"),))).next.claim is None
    store.resume(paused)
    assert claimed(store).id == waiting


def test_each_ends_by_itself(store: Store) -> None:
    add(store)
    store.pause(["mail", ""])
    store.resume(["mail"])
    assert [one.queue for one in store.pauses()] == [""]
    assert claim(store) is None
    store.resume(["", "never paused"])
    assert store.pauses() == ()
    assert claim(store)


@pytest.mark.parametrize("queue", ["mail", ""])
def test_it_ends_when_its_time_is_over(store: Store, clock: TwoHands, queue: str) -> None:
    add(store)
    now = clock.wall()
    store.pause([queue], seconds=60.0)
    assert store.pauses() == (Pause(queue, now, now + 60.0),)
    assert store.outlook(BOTH, limit=9).next_at == now + 60.0
    clock.pass_by(59.0)
    assert claim(store) is None
    clock.pass_by(1.0)
    assert store.pauses() == ()
    while store.tidy():
        pass
    assert claim(store)


def test_one_that_is_paused_stays_so_from_when_it_was(store: Store, clock: TwoHands) -> None:
    began = clock.wall()
    store.pause(["mail"])
    clock.pass_by(10.0)
    store.pause(["mail"], seconds=5.0)
    assert store.pauses() == (Pause("mail", began, began + 15.0),)
    clock.pass_by(10.0)
    store.pause(["mail"])
    assert store.pauses() == (Pause("mail", began + 20.0, None),)


def test_how_many_run_is_told_by_queue(store: Store) -> None:
    for queue in ("mail", "mail", "data"):
        add(store, queue=queue)
    for _ in range(2):
        assert store.claim(holder(), BOTH).claim
    assert store.running() == 2
    assert store.running("mail") + store.running("data") == 2
    assert store.running("nobody's") == 0
