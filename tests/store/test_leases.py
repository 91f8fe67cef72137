"""When a claim ends without its holder."""

import pytest

from sqlqd.model import Done, Retry, Rules, State
from sqlqd.store.base import Store
from tests.support.clocks import TwoHands
from tests.support.stores import add, claim, claimed, holder, seen


def test_a_lease_holds_until_its_end_and_no_longer(store: Store, clock: TwoHands) -> None:
    job_id = add(store)
    claimed(store)
    clock.pass_by(29.9)
    assert len(store.expire_leases()) == 0
    assert claim(store) is None
    clock.pass_by(0.1)
    assert len(store.expire_leases()) == 1
    again = claimed(store, who=holder(2))
    assert (again.job.id, again.job.attempts, again.job.crashes) == (job_id, 2, 1)


def test_ended_once_is_ended(store: Store, clock: TwoHands) -> None:
    add(store)
    claimed(store)
    clock.pass_by(31)
    assert len(store.expire_leases()) == 1
    assert len(store.expire_leases()) == 0


def test_what_is_over_is_named_and_ended_by_its_token(store: Store, clock: TwoHands) -> None:
    for _ in range(3):
        add(store)
    first, second = (claimed(store, Rules("mail", lease=30.0), who=holder(n)) for n in (1, 2))
    claimed(store, Rules("mail", lease=300.0))
    assert store.overdue() == []
    clock.pass_by(30.0)
    assert {(one.job_id, one.token) for one in store.overdue()} == {
        (one.id, one.token) for one in (first, second)
    }
    assert len(store.expire_leases(only=())) == 0
    assert len(store.expire_leases(only={second.token, "nobody's"})) == 1
    assert [one.uid for one in store.overdue()] == [holder(1).uid]
    assert len(store.expire_leases()) == 1


def test_a_lease_that_was_renewed_meanwhile_is_not_ended(store: Store, clock: TwoHands) -> None:
    add(store)
    claim = claimed(store)
    clock.pass_by(30.0)
    over = {one.token for one in store.overdue()}
    store.renew(claim, 30.0)
    assert len(store.expire_leases(only=over)) == 0


def test_renewing_holds_it(store: Store, clock: TwoHands) -> None:
    add(store)
    held = claimed(store)
    for _ in range(5):
        clock.pass_by(20)
        renewed = store.renew(held, 30.0)
        assert renewed is not None
        assert (renewed.until, renewed.until_awake) == (clock.wall() + 30, clock.awake() + 30)
        assert renewed.token == held.token
        assert len(store.expire_leases()) == 0
    assert store.settle(held, Done()).kept


def test_a_lost_lease_that_nobody_took_is_still_ours(store: Store, clock: TwoHands) -> None:
    add(store)
    held = claimed(store)
    clock.pass_by(31)
    store.expire_leases()
    assert store.settle(held, Done()).kept
    assert claim(store) is None


def test_renewing_a_lost_lease_that_nobody_took_holds_it_again(store: Store, clock: TwoHands) -> None:
    job_id = add(store)
    held = claimed(store)
    clock.pass_by(31)
    store.expire_leases()
    assert seen(store, job_id).state is State.READY
    assert store.renew(held, 30.0) is not None
    assert seen(store, job_id).state is State.RUNNING
    assert claim(store) is None


@pytest.mark.parametrize("step", [-3600.0, 3600.0, -1_799_999_000.0, 300_000_000.0])
def test_a_step_of_the_wall_clock_neither_ends_nor_strands_a_lease(
    store: Store, clock: TwoHands, step: float
) -> None:
    add(store)
    claimed(store)
    clock.step_wall(step)
    assert len(store.expire_leases()) == 0
    assert claim(store) is None
    clock.pass_by(30)
    assert len(store.expire_leases()) == 1
    assert claim(store) is not None


def test_time_asleep_does_not_count(store: Store, clock: TwoHands) -> None:
    add(store)
    held = claimed(store)
    clock.sleep(8 * 3600)
    assert len(store.expire_leases()) == 0
    assert store.settle(held, Done()).kept


def test_after_a_reboot_every_lease_is_over_and_no_crash_counts(store: Store, clock: TwoHands) -> None:
    ids = {add(store) for _ in range(3)}
    for _ in ids:
        claimed(store, Rules("mail", lease=86_400.0))
    clock.reboot()
    assert {job.reason for job in store.expire_leases()} == {
        "it ran before the machine was started anew, or when a backup was made"
    }
    again = [claimed(store, who=holder(2)) for _ in ids]
    assert {one.job.id for one in again} == ids
    assert {(one.job.attempts, one.job.crashes) for one in again} == {(2, 0)}


def test_boots_are_told_apart_whatever_their_names(store: Store, clock: TwoHands) -> None:
    add(store)
    for number in range(12):
        claimed(store, who=holder(number))
        clock.reboot()
        assert len(store.expire_leases()) == 1


def test_a_dead_workers_leases_end_at_once_and_only_its_own(store: Store) -> None:
    first, second = add(store), add(store)
    claimed(store, who=holder(1))
    claimed(store, who=holder(11))
    assert len(store.end_leases([holder(1).uid])) == 1
    assert (seen(store, first).state, seen(store, second).state) == (State.READY, State.RUNNING)
    assert len(store.end_leases([])) == 0


def test_a_replacement_ends_what_its_predecessors_held(store: Store) -> None:
    job_id = add(store)
    claimed(store, who=holder(1))
    assert len(store.worker_started(holder(2), 77, replaces=[holder(1).uid, holder(9).uid])) == 1
    again = claimed(store, who=holder(2))
    assert (again.job.id, again.job.crashes) == (job_id, 1)
    assert len(store.worker_started(holder(3), 77, replaces=[holder(1).uid])) == 0


def test_a_crash_is_remembered_over_other_failures(store: Store, clock: TwoHands) -> None:
    rules = Rules("mail", max_crashes=2)
    add(store)
    for number in range(2):
        claimed(store, rules, who=holder(number))
        store.end_leases([holder(number).uid])
        if number == 0:
            store.settle(claimed(store, rules), Retry(clock.wall(), "no"))
    assert claim(store, rules) is None


def test_an_ended_lease_is_in_the_history(store: Store, clock: TwoHands) -> None:
    job_id = add(store)
    held = claimed(store)
    clock.pass_by(31)
    store.expire_leases()
    (attempt,) = seen(store, job_id).history
    assert (attempt.number, attempt.outcome, attempt.worker) == (1, "lost", held.token)
    assert (attempt.started_at, attempt.ended_at) == (held.claimed_at, clock.wall())
