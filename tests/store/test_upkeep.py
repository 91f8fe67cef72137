"""What the steward asks and does."""

from dataclasses import replace

import pytest

from sqlqd.model import Bury, DaemonSeen, Done, NewJob, Outlook, Release, Retry, Rules, Selection, State
from sqlqd.store.base import Store
from tests.support.clocks import TwoHands
from tests.support.stores import add, claimed, failure, holder, seen

MAIL = (Rules("mail"),)


def daemon(pid: int, workers: int = 2) -> DaemonSeen:
    return DaemonSeen(pid, 1.0, 2.0, "1", "/etc/sqlqd/sqlqd.toml", workers)


def test_nothing_waits(store: Store) -> None:
    assert store.outlook(MAIL, limit=4) == Outlook(0, None)
    add(store, "strange")
    assert store.outlook(MAIL, limit=4) == Outlook(0, None)
    assert store.outlook((), limit=4) == Outlook(0, None)


def test_due_is_counted_up_to_the_limit(store: Store) -> None:
    store.enqueue([NewJob("mail"), NewJob("mail", priority=5), NewJob("other"), NewJob("mail", priority=-5)])
    served = (Rules("mail"), Rules("other"))
    assert [store.outlook(served, limit=limit).due for limit in (0, 1, 3, 9)] == [0, 1, 3, 4]


def test_the_next_is_the_soonest_of_all_priorities_and_queues(store: Store, clock: TwoHands) -> None:
    now = clock.wall()
    add(store, priority=9, run_at=now + 30)
    add(store, priority=0, run_at=now)
    add(store, priority=0, run_at=now + 20)
    add(store, priority=-9, run_at=now + 25)
    add(store, "other", run_at=now + 22)
    served = (Rules("mail"), Rules("other"))
    assert store.outlook(served, limit=9) == Outlook(1, now + 20)
    assert store.outlook((Rules("other"),), limit=9) == Outlook(0, now + 22)


def test_a_full_queue_is_nobodys_work(store: Store, clock: TwoHands) -> None:
    one = (Rules("mail", concurrency=2),)
    store.enqueue([*[NewJob("mail")] * 4, NewJob("mail", delay=60)])
    assert store.outlook(one, limit=9) == Outlook(2, clock.wall() + 60)
    claimed(store, *one)
    assert store.outlook(one, limit=9) == Outlook(1, clock.wall() + 60)
    claimed(store, *one)
    assert store.outlook(one, limit=9) == Outlook(0, None)


def test_a_lost_job_is_work(store: Store, clock: TwoHands) -> None:
    one = (Rules("mail", concurrency=1),)
    add(store)
    claimed(store, *one)
    clock.pass_by(31)
    assert store.outlook(one, limit=9).due == 0
    store.expire_leases()
    assert store.outlook(one, limit=9).due == 1


def test_a_blocked_queue_is_work_again_when_its_hold_is_over(store: Store, clock: TwoHands) -> None:
    add(store)
    store.settle(claimed(store), Release("cannot start", block=30.0))
    assert store.outlook(MAIL, limit=9) == Outlook(0, clock.wall() + 30)
    clock.pass_by(30)
    assert store.outlook(MAIL, limit=9) == Outlook(1, None)


def test_what_the_outlook_counts_can_be_claimed(store: Store, clock: TwoHands) -> None:
    served = (Rules("a", concurrency=3), Rules("b"), Rules("c"))
    for queue, number in [("a", 5), ("b", 4), ("x", 3)]:
        store.enqueue([NewJob(queue, priority=one - 2) for one in range(number)])
    add(store, "c", delay=60)
    expected = store.outlook(served, limit=100).due
    assert expected == 7
    for _ in range(expected):
        claimed(store, *served)
    assert store.outlook(served, limit=100) == Outlook(0, clock.wall() + 60)


def test_records_go_when_their_time_is_over(store: Store, clock: TwoHands) -> None:
    for keep in (100.0, 1000.0):
        add(store)
        store.settle(claimed(store, Rules("mail", keep_done=keep)), Done())
    assert not store.tidy()
    assert len(list(store.find(Selection()))) == 2
    clock.pass_by(100)
    assert not store.tidy()
    assert len(list(store.find(Selection()))) == 1


def test_housekeeping_goes_in_steps_and_says_when_it_is_over(store: Store, clock: TwoHands) -> None:
    for _ in range(30):
        add(store)
        store.settle(claimed(store, Rules("mail", keep_done=1.0)), Done())
    clock.pass_by(2)
    left = [len(list(store.find(Selection())))]
    while store.tidy(budget=0.0005):
        left.append(len(list(store.find(Selection()))))
    assert left[1] == 20
    assert list(store.find(Selection())) == []


def test_old_counts_are_folded_without_an_end_to_the_work(store: Store, clock: TwoHands) -> None:
    for _ in range(5):
        add(store)
        store.settle(claimed(store, Rules("mail", keep_done=0.0)), Done())
        clock.pass_by(300)
    clock.pass_by(7200)
    assert not store.tidy()
    assert not store.tidy()


def test_workers_and_what_they_run(store: Store, clock: TwoHands) -> None:
    store.daemon_started(daemon(77))
    store.worker_started(holder(1), 77)
    store.worker_started(holder(2), 77)
    job_id = add(store)
    claimed(store, who=holder(2))
    seen_now = store.overview([])
    assert seen_now.daemons == (daemon(77),)
    assert [(one.slot, one.pid, one.job_id, one.queue, one.claimed_at) for one in seen_now.workers] == [
        (1, 1001, None, None, None),
        (2, 1002, job_id, "mail", clock.wall()),
    ]
    store.worker_stopped(holder(2).uid)
    assert [one.slot for one in store.overview([]).workers] == [1]


def test_an_announcement_replaces_the_last_one(store: Store) -> None:
    store.daemon_started(daemon(77, workers=2))
    store.daemon_started(daemon(77, workers=5))
    assert [one.workers for one in store.overview([]).daemons] == [5]


def test_the_workers_of_an_earlier_daemon_with_its_number_are_forgotten(
    store: Store, clock: TwoHands
) -> None:
    store.worker_started(holder(1), 1)
    clock.pass_by(5.0)
    started = replace(daemon(1), started_at=clock.wall())
    clock.pass_by(0.1)
    store.worker_started(holder(2), 1)
    store.daemon_started(started)
    assert [one.uid for one in store.overview([]).workers] == [holder(2).uid]


def test_the_dead_are_forgotten_with_their_workers(store: Store) -> None:
    for pid in (77, 78):
        store.daemon_started(daemon(pid))
        store.worker_started(holder(pid), pid)
    store.worker_started(holder(3), 79)
    store.forget_daemons([78])
    assert [one.pid for one in store.overview([]).daemons] == [78]
    assert [one.daemon_pid for one in store.overview([]).workers] == [78]


def test_counts_by_queue_and_state(store: Store, clock: TwoHands) -> None:
    now = clock.wall()
    store.enqueue([NewJob("mail", run_at=now - 50), NewJob("mail", run_at=now - 9), NewJob("mail", delay=9)])
    store.enqueue([NewJob("other"), NewJob("dead")])
    claimed(store, "other")
    store.settle(claimed(store, "dead"), Retry(now, "no"), failure())
    assert store.claim(holder(), [Rules("dead", max_attempts=1)]).claim is None
    queues = {one.name: one for one in store.overview(["mail", "empty"]).queues}
    assert sorted(queues) == ["dead", "empty", "mail", "other"]
    assert (queues["mail"].ready, queues["mail"].scheduled, queues["mail"].oldest_ready_at) == (
        2,
        1,
        now - 50,
    )
    assert (queues["other"].ready, queues["other"].running, queues["dead"].dead) == (0, 1, 1)
    assert queues["empty"].oldest_ready_at is None


def test_a_blocked_queue_is_shown_with_the_reason(store: Store, clock: TwoHands) -> None:
    add(store)
    store.settle(claimed(store), Release("/no/such: not found", block=30.0))
    (queue,) = store.overview([]).queues
    assert (queue.blocked_until, queue.blocked_reason) == (clock.wall() + 30, "/no/such: not found")
    store.unblock("mail")
    (queue,) = store.overview([]).queues
    assert (queue.blocked_until, queue.blocked_reason) == (None, None)


def test_all_of_several_are_unblocked(store: Store) -> None:
    for queue in ("data", "mail", "news"):
        add(store, queue)
        store.settle(claimed(store, queue), Release("/no/such: not found", block=30.0))
    store.unblock_all(["mail", "empty", "data"])
    blocked = {one.name for one in store.overview([]).queues if one.blocked_until is not None}
    assert blocked == {"news"}


def test_unblocking_what_is_not_blocked_does_nothing(store: Store) -> None:
    store.unblock("mail")
    store.unblock_all(["mail"])
    assert store.overview([]).queues == ()


def test_lost_jobs_are_shown_as_ready(store: Store, clock: TwoHands) -> None:
    job_id = add(store)
    claimed(store)
    clock.pass_by(31)
    store.expire_leases()
    (queue,) = store.overview([]).queues
    assert (queue.ready, queue.running) == (1, 0)
    assert seen(store, job_id).state is State.READY


@pytest.mark.parametrize("jobs", [0, 50])
def test_a_checkpoint_copies_all_where_nobody_reads(store: Store, jobs: int) -> None:
    store.enqueue([NewJob("mail")] * jobs)
    assert store.checkpoint() == 0


def test_dead_jobs_go_when_their_queue_says_so(store: Store, clock: TwoHands) -> None:
    rules = (Rules("mail", keep_dead=100.0), Rules("data"))
    for queue in ("mail", "data", "mail"):
        add(store, queue=queue)
        store.settle(claimed(store, *rules), Bury("used up"))
        clock.pass_by(60.0)
    assert not store.tidy(rules)
    assert [job.queue for job in store.find(Selection())] == ["data", "mail"]
    clock.pass_by(1e6)
    assert not store.tidy(rules)
    (kept,) = store.find(Selection())
    assert (kept.queue, kept.state) == ("data", State.DEAD)
