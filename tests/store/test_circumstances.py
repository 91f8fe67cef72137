"""What decides when a job runs is read as it stands."""

from dataclasses import replace

import pytest

from sqlqd.model import (
    Ask,
    Breaker,
    Bury,
    DaemonSeen,
    Done,
    Ended,
    NewJob,
    Outcome,
    Pause,
    Progress,
    Rate,
    Release,
    Retry,
    Rules,
    Selection,
    State,
)
from sqlqd.store.base import Store, StoreError
from tests.support.clocks import TwoHands
from tests.support.stores import add, claimed, failure, holder
from tests.support.stores import seen as seen_of

SERVED = (Rules("mail", concurrency=2), Rules("data"), Rules("idle"))


def test_who_is_ahead_is_counted_as_claims_go(store: Store, clock: TwoHands) -> None:
    def ahead(job: str) -> int:
        found = store.circumstances(job, SERVED)
        assert found is not None
        return found.ahead

    lost, *alike = (one.id for one in store.enqueue([NewJob("mail", run_at=clock.wall() - 5)] * 3))
    assert claimed(store).id == lost
    store.end_leases([holder().uid])
    high, late = add(store, priority=5), add(store)
    low = add(store, priority=-5)
    add(store, priority=7, delay=60.0)
    add(store, "data", priority=9)
    order = [lost, high, *alike, late, low]
    assert [ahead(job) for job in order] == [0, 1, 2, 3, 4, 5]
    assert [claimed(store, who=holder(2)).id for _ in order] == order


def test_who_else_takes_turns(store: Store) -> None:
    job = add(store)
    add(store, "idle", delay=60.0)
    seen = store.circumstances(job, SERVED)
    assert (seen and seen.rivals) == 0
    add(store, "data")
    add(store, "nobody's")
    seen = store.circumstances(job, SERVED)
    assert (seen and seen.rivals) == 1
    store.pause(["data"])
    seen = store.circumstances(job, SERVED)
    assert (seen and seen.rivals) == 0


def test_the_slots_of_its_queue_and_who_has_them(store: Store) -> None:
    one, two, waits = add(store), add(store), add(store)
    first, second = claimed(store), claimed(store, who=holder(2))
    seen, inside = store.circumstances(waits, SERVED), store.circumstances(one, SERVED)
    assert seen
    assert inside
    assert (seen.leased, set(seen.holders), seen.held) == (2, {one, two}, None)
    assert (inside.leased, inside.holders) == (1, (two,))
    assert inside.held
    assert (inside.held.token, inside.held.lost, inside.held.asked) == (first.token, False, None)
    store.kill(Selection(ids=(one,)))
    inside = store.circumstances(one, SERVED)
    assert inside
    assert inside.held
    assert inside.held.asked is Ask.KILL
    store.settle(second, Done())


def test_a_lease_is_measured_by_its_own_clock(store: Store, clock: TwoHands) -> None:
    job = add(store)
    claimed(store)
    clock.pass_by(10.0)
    clock.step_wall(-3600.0)
    seen = store.circumstances(job, SERVED)
    assert seen
    assert seen.held
    assert (seen.held.left, seen.held.earlier_boot) == (20.0, False)
    clock.pass_by(25.0)
    seen = store.circumstances(job, SERVED)
    assert seen
    assert seen.held
    assert seen.held.left == -5.0
    clock.reboot()
    seen = store.circumstances(job, SERVED)
    assert seen
    assert seen.held
    assert (seen.held.left, seen.held.earlier_boot) == (None, True)
    store.expire_leases()
    seen = store.circumstances(job, SERVED)
    assert seen
    assert seen.held
    assert (seen.held.lost, seen.job.state) == (True, State.READY)


def test_pauses_and_blocks_that_concern_it(store: Store, clock: TwoHands) -> None:
    job, other = add(store), add(store, "data")
    now = clock.wall()
    store.settle(claimed(store), Release("no such file", block=5.0))
    store.pause(["", "mail", "idle"], seconds=60.0)
    seen, beside = store.circumstances(job, SERVED), store.circumstances(other, SERVED)
    assert seen
    assert beside
    everything, its = Pause("", now, now + 60.0), Pause("mail", now, now + 60.0)
    assert (seen.pauses, beside.pauses) == ((everything, its), (everything,))
    assert (seen.blocked_until, seen.blocked_reason) == (now + 5.0, "no such file")
    assert (beside.blocked_until, beside.blocked_reason) == (None, None)
    clock.pass_by(60.0)
    seen = store.circumstances(job, SERVED)
    assert (seen and (seen.pauses, seen.blocked_until)) == ((), None)


def test_ended_jobs_and_unknown_ones(store: Store, clock: TwoHands) -> None:
    daemon = DaemonSeen(77, clock.wall(), clock.wall(), "1", "/x", 1)
    store.daemon_started(daemon)
    store.worker_started(holder(), 77)
    job = add(store)
    store.settle(claimed(store), Retry(clock.wall(), "exit 75"), failure(75))
    busy = store.circumstances(job, SERVED)
    assert busy
    assert [attempt.exit_code for attempt in busy.job.history] == [75]
    assert (busy.daemons, [worker.job_id for worker in busy.workers]) == ((daemon,), [None])
    held = claimed(store)
    busy = store.circumstances(job, SERVED)
    assert busy
    assert [worker.job_id for worker in busy.workers] == [job]
    store.settle(held, Bury("exit 75"), failure(75))
    dead = store.circumstances(job, SERVED)
    assert dead
    assert (dead.job.state, dead.held) == (State.DEAD, None)
    assert replace(dead.job, history=()) in set(store.find(Selection(ids=(job,))))
    assert store.circumstances("abcdef", SERVED) is None
    add(store, id="abcdef01"), add(store, id="abcdef02")
    with pytest.raises(StoreError, match="several"):
        store.circumstances("abcdef", SERVED)


def test_a_rate_a_breaker_and_the_turns_of_a_key(store: Store, clock: TwoHands) -> None:
    rules = Rules("mail", rate=Rate(60.0), breaker=Breaker(1, 600.0), exclusive=True)
    first, second = (add(store, key="k", shared=True) for _ in range(2))
    held = claimed(store, rules)
    assert held.id == first
    seen = store.circumstances(second, (rules,))
    assert seen is not None
    assert seen.rated_until == pytest.approx(clock.wall() + 60.0, abs=1e-3)
    assert (seen.turn_of, seen.blocked_until, seen.failures) == (first, None, 0)
    outcome = Outcome(Ended.EXITED, clock.wall(), 1.0, code=1)
    store.settle(held, Retry(clock.wall() + 60.0, "exit 1"), outcome)
    seen = store.circumstances(second, (rules,))
    assert seen is not None
    assert (seen.turn_of, seen.blocked_until, seen.failures) == (None, clock.wall() + 600.0, 1)
    (queue,) = store.overview(["mail"]).queues
    assert queue.blocked_until == clock.wall() + 600.0
    assert queue.blocked_reason == "the last attempt failed; then one job is tried"


def test_a_breaker_means_nothing_to_a_clock_that_was_set_back(store: Store, clock: TwoHands) -> None:
    rules = Rules("mail", breaker=Breaker(1, 600.0))
    _, second = add(store), add(store)
    store.settle(claimed(store, rules), Bury("exit 1"), Outcome(Ended.EXITED, clock.wall(), 1.0, code=1))
    clock.step_wall(-86_400.0)
    (queue,) = store.overview(["mail"]).queues
    assert (queue.dead, queue.blocked_until) == (1, None)
    seen = store.circumstances(second, (rules,))
    assert seen is not None
    assert seen.blocked_until is None


def test_how_far_a_job_is_while_it_runs(store: Store) -> None:
    job = add(store)
    store.worker_started(holder(), 77)
    held = claimed(store)
    store.progress(held, Progress(40.0, "encoding"))
    store.progress(held, Progress(50.0, "encoding"))
    assert seen_of(store, job).progress == Progress(50.0, "encoding")
    (worker,) = store.overview([]).workers
    assert worker.progress == Progress(50.0, "encoding")
    store.settle(held, Retry(0.0, "exit 1"))
    store.progress(held, Progress(60.0))
    assert seen_of(store, job).progress is None
    again = claimed(store)
    assert seen_of(store, job).progress is None
    while store.tidy():
        pass
    store.progress(again, Progress(1.0))
    assert seen_of(store, job).progress == Progress(1.0)
