"""What people ask of running jobs holds, however the run ends and whoever records it."""

import pytest

from sqlqd.model import Ask, Bury, Cancel, Done, Release, Retry, Selection, State, Verdict
from sqlqd.store.base import Store
from tests.support.stores import add, claim, claimed, holder, seen

ASKS = {
    Ask.KILL: lambda store, chosen: store.kill(chosen),
    Ask.BURY: lambda store, chosen: store.kill(chosen, bury=True),
    Ask.CANCEL: lambda store, chosen: store.cancel(chosen),
}


def ask(store: Store, job: str, what: Ask) -> None:
    (touched,) = ASKS[what](store, Selection(ids=(job,))).jobs
    assert (touched.id, touched.state) == (job, State.RUNNING)


@pytest.mark.parametrize("what", Ask)
def test_its_holder_hears_it(store: Store, what: Ask) -> None:
    add(store)
    held = claimed(store)
    assert store.asked(held) is None
    ask(store, held.id, what)
    ask(store, held.id, what)
    assert store.asked(held) is what


@pytest.mark.parametrize("later", Ask)
@pytest.mark.parametrize("first", Ask)
def test_what_goes_further_holds(store: Store, first: Ask, later: Ask) -> None:
    add(store)
    held = claimed(store)
    ask(store, held.id, first)
    ask(store, held.id, later)
    assert store.asked(held) is max(first, later, key=lambda one: one.further)


@pytest.mark.parametrize(
    ("what", "judged", "became"),
    [
        (Ask.CANCEL, Retry(1.0, "exit 1"), Cancel()),
        (Ask.CANCEL, Release("the daemon stopped"), Cancel()),
        (Ask.CANCEL, Bury("used up"), Cancel()),
        (Ask.CANCEL, Done(), Done()),
        (Ask.BURY, Retry(1.0, "exit 1"), Bury("killed")),
        (Ask.BURY, Release("the daemon stopped"), Bury("killed")),
        (Ask.BURY, Bury("used up"), Bury("used up")),
        (Ask.BURY, Done(), Done()),
        (Ask.KILL, Retry(1.0, "exit 1"), Retry(1.0, "exit 1")),
        (Ask.KILL, Release("the daemon stopped"), Release("the daemon stopped")),
    ],
)
def test_a_run_that_ends_otherwise_ends_as_asked(
    store: Store, what: Ask, judged: Verdict, became: Verdict
) -> None:
    add(store)
    held = claimed(store)
    ask(store, held.id, what)
    settled = store.settle(held, judged)
    assert (settled.kept, settled.verdict) == (True, became)
    record = seen(store, held.id)
    match became:
        case Cancel():
            assert (record.state, record.outcome) == (State.DONE, "cancelled")
        case Done():
            assert (record.state, record.outcome) == (State.DONE, "done")
        case Bury(reason):
            assert (record.state, record.reason) == (State.DEAD, reason)
        case _:
            assert record.state is State.READY


@pytest.mark.parametrize(
    ("what", "state"), [(Ask.KILL, State.READY), (Ask.BURY, State.DEAD), (Ask.CANCEL, State.DONE)]
)
def test_it_is_done_where_the_holder_dies(store: Store, what: Ask, state: State) -> None:
    add(store)
    held = claimed(store)
    ask(store, held.id, what)
    (lost,) = store.end_leases([holder().uid])
    assert lost.gone is (None if what is Ask.KILL else what)
    assert seen(store, held.id).state is state
    assert (claim(store) is None) is (what is not Ask.KILL)
    assert store.settle(held, Done()).kept is False


def test_it_is_for_that_claim_alone(store: Store) -> None:
    add(store)
    held = claimed(store)
    ask(store, held.id, Ask.KILL)
    assert store.settle(held, Retry(1.0, "killed")).kept
    again = claimed(store)
    assert again.id == held.id
    assert store.asked(again) is None
    while store.tidy():
        pass
    ask(store, again.id, Ask.CANCEL)
    assert store.asked(again) is Ask.CANCEL


def test_a_waiting_job_is_buried_and_not_killed(store: Store) -> None:
    job = add(store)
    assert store.kill(Selection(ids=(job,))).skipped == ((job, "is ready, not running"),)
    assert len(store.kill(Selection(queue="mail"), bury=True, dry_run=True).jobs) == 1
    assert seen(store, job).state is State.READY
    assert len(store.kill(Selection(queue="mail"), bury=True).jobs) == 1
    assert (seen(store, job).state, seen(store, job).reason) == (State.DEAD, "killed")
