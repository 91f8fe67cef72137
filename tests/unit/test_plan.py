"""The parent's decisions: pure, over slots, stamps, phase and clock."""

import math
import signal
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlqd.parent import plan
from sqlqd.parent.phases import Phase
from sqlqd.parent.plan import End, Filling, Limits, Slot, Stamp
from sqlqd.seat import ChildExit, Role

KILLED = -signal.SIGKILL
NOW = 1000.0


def worker(**fields: object) -> Slot:
    slot = Slot(1, Role.WORKER, number=7, uid="ab", pid=42, forked_at=NOW - 100)
    for name, value in fields.items():
        setattr(slot, name, value)
    return slot


def steward(**fields: object) -> Slot:
    slot = worker(**fields)
    slot.role = Role.STEWARD
    return slot


IDLE = Stamp(started=NOW - 99, beat=NOW)
BUSY = Stamp(started=NOW - 99, beat=NOW, busy=True, lease_end=NOW + 30, lease=30)


def test_pauses_grow_to_a_limit_and_never_overflow() -> None:
    assert [plan.pause(n) for n in range(5)] == [0.0, 0.1, 0.2, 0.4, 0.8]
    assert plan.pause(10) == plan.pause(10**9) == plan.LONGEST_PAUSE


@given(st.floats(min_value=2, max_value=1e7))
def test_a_lease_leaves_time_to_work_and_time_to_kill(lease: float) -> None:
    assert 0.3 <= plan.margin(lease) <= min(2.0, lease / 2)


def test_a_child_that_does_not_start_is_killed_in_time() -> None:
    slot = worker(forked_at=NOW)
    assert plan.limit(slot, Stamp()).at == NOW + plan.START_PATIENCE
    assert plan.limit(slot, Stamp(beat=NOW + 20)).at == NOW + 20 + plan.START_PATIENCE
    slot.told_at = NOW + 1
    assert plan.limit(slot, Stamp(beat=NOW + 20)).at == NOW + 1 + plan.LEAVE_PATIENCE


def test_an_idle_worker_is_not_judged_by_its_age() -> None:
    assert plan.limit(worker(), Stamp(started=1.0, beat=1.0)).at == math.inf


def test_a_worker_that_holds_a_lease_is_killed_before_its_end() -> None:
    limit = plan.limit(worker(), BUSY)
    assert limit.at == BUSY.lease_end - plan.margin(BUSY.lease)
    assert limit.reason
    assert plan.limit(worker(told_at=NOW), BUSY) == limit


def test_a_worker_that_records_its_jobs_end_may_take_its_time() -> None:
    assert plan.limit(worker(told_at=NOW), Stamp(started=1.0, busy=True)).at == math.inf


def test_a_worker_that_stands_still_in_a_turn_is_killed_whatever_it_was_doing() -> None:
    in_turn = replace(IDLE, turn=NOW - 3, beat=NOW - 3)
    for stamp in (in_turn, replace(in_turn, busy=True), replace(BUSY, turn=NOW - 3, beat=NOW - 3)):
        assert plan.limit(worker(), stamp).at == NOW - 3 + plan.TURN_PATIENCE


def test_a_worker_that_waits_for_the_database_in_its_turn_moves_on() -> None:
    assert plan.limit(worker(), replace(IDLE, turn=NOW - 30, beat=NOW)).at == NOW + plan.TURN_PATIENCE


def test_an_idle_worker_that_is_told_to_leave_must() -> None:
    assert plan.limit(worker(told_at=NOW), IDLE).at == NOW + plan.IDLE_PATIENCE


def test_a_worker_that_had_a_job_until_long_after_it_was_told_has_the_same_time_to_leave() -> None:
    done = replace(IDLE, beat=NOW + 10)
    assert plan.limit(worker(told_at=NOW), done).at == NOW + 10 + plan.IDLE_PATIENCE


def test_a_steward_is_judged_by_its_beat_and_leaves_at_once() -> None:
    assert plan.limit(steward(), IDLE).at == IDLE.beat + plan.STEWARD_PATIENCE
    assert plan.limit(steward(told_at=NOW), IDLE).at == NOW + plan.LEAVE_PATIENCE


def test_one_killed_at_work_is_replaced_at_once() -> None:
    slot = worker(failures=3)
    plan.vacate(slot, BUSY, in_order=False, now=NOW)
    assert (slot.pid, slot.failures, slot.not_before) == (0, 0, NOW)
    assert slot.orphans == ((7, "ab"),)


def test_one_that_never_came_to_work_waits_longer_each_time() -> None:
    slot = worker()
    pauses = []
    for _ in range(12):
        plan.vacate(slot, Stamp(), in_order=False, now=NOW)
        pauses.append(round(slot.not_before - NOW, 3))
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0]
    assert slot.orphans == ()


def test_one_that_starts_and_dies_idle_at_once_waits_too() -> None:
    slot = worker()
    plan.vacate(slot, Stamp(started=NOW - 0.1, beat=NOW), in_order=False, now=NOW)
    assert slot.failures == 1
    slot = worker(failures=5)
    plan.vacate(slot, Stamp(started=NOW - 2.0, beat=NOW), in_order=False, now=NOW)
    assert slot.failures == 0


def test_one_that_left_in_order_leaves_no_lease() -> None:
    slot = worker()
    plan.vacate(slot, IDLE, in_order=True, now=NOW)
    assert slot.orphans == ()


def test_one_that_was_killed_while_it_was_idle_leaves_no_lease() -> None:
    slot = worker(doomed="it does not leave")
    plan.vacate(slot, IDLE, in_order=False, now=NOW)
    assert slot.orphans == ()


def test_the_dead_stay_with_the_slot_until_they_are_answered_for() -> None:
    slot = worker(orphans=((5, "x"), (6, "y")))
    plan.vacate(slot, Stamp(started=1.0, busy=True), in_order=False, now=NOW)
    assert slot.orphans == ((5, "x"), (6, "y"), (7, "ab"))
    slot = worker(orphans=((5, "x"), (6, "y")))
    plan.vacate(slot, Stamp(started=1.0, busy=True, replaced=6), in_order=False, now=NOW)
    assert slot.orphans == ((7, "ab"),)
    slot = worker(orphans=((5, "x"),))
    plan.vacate(slot, Stamp(), in_order=False, now=NOW)
    assert slot.orphans == ((5, "x"),)


def test_a_stewards_death_leaves_no_lease() -> None:
    slot = steward()
    plan.vacate(slot, IDLE, in_order=False, now=NOW)
    assert slot.orphans == ()


HEIR = {"pid": 0, "orphans": ((7, "ab"),)}


@pytest.mark.parametrize(
    ("phase", "slot", "room", "filling"),
    [
        (Phase.STARTING, worker(pid=0), True, Filling.CHILD),
        (Phase.RUNNING, worker(pid=0, failures=9), True, Filling.CHILD),
        (Phase.RELOADING, worker(pid=0), True, Filling.CHILD),
        # While those of an older configuration are at work in other slots.
        (Phase.RUNNING, worker(pid=0), False, Filling.NOBODY),
        (Phase.RUNNING, worker(**HEIR), False, Filling.HEIR),
        (Phase.RUNNING, steward(pid=0), False, Filling.CHILD),
        # A slot that the configuration has no more.
        (Phase.RUNNING, worker(pid=0, wanted=False), True, Filling.NOBODY),
        (Phase.RUNNING, worker(**HEIR, wanted=False, failures=2), True, Filling.HEIR),
        (Phase.DRAINING, worker(pid=0), True, Filling.NOBODY),
        (Phase.DRAINING, worker(**HEIR), True, Filling.HEIR),
        (Phase.DRAINING, worker(**HEIR, failures=1), True, Filling.NOBODY),
        (Phase.KILLING, worker(**HEIR), True, Filling.NOBODY),
    ],
)
def test_what_an_empty_slot_is_filled_with(phase: Phase, slot: Slot, room: bool, filling: Filling) -> None:  # noqa: FBT001 - a table's column
    assert plan.filling(slot, phase, room=room) is filling


def test_there_is_room_while_fewer_workers_are_there_than_configured() -> None:
    slots = [steward(), worker(), worker(pid=0), worker(wanted=False), worker(wanted=False, pid=0)]
    assert plan.room(slots) == 0
    slots[3].pid = 0
    assert plan.room(slots) == 1


def test_whoever_was_told_to_leave_and_did_has_failed_at_nothing() -> None:
    for stamp in (Stamp(), Stamp(started=NOW - 0.1, beat=NOW)):
        slot = worker(told_at=NOW, failures=2)
        plan.vacate(slot, stamp, in_order=True, now=NOW)
        assert (slot.failures, slot.told_at) == (2, math.inf)
        assert plan.ending(worker(told_at=NOW), stamp, 0, Phase.RELOADING) is End.IN_ORDER


@pytest.mark.parametrize(
    ("stamp", "status", "phase", "doomed", "end"),
    [
        (Stamp(), ChildExit.CANNOT_START, Phase.STARTING, "", End.CANNOT_START),
        (Stamp(), 1, Phase.RUNNING, "", End.NOT_STARTED),
        (Stamp(), 0, Phase.RUNNING, "", End.NOT_STARTED),
        (Stamp(), 0, Phase.DRAINING, "", End.IN_ORDER),
        (IDLE, 0, Phase.RUNNING, "", End.IN_ORDER),
        (IDLE, 70, Phase.RUNNING, "", End.CRASHED),
        (BUSY, KILLED, Phase.RUNNING, "", End.CRASHED),
        (BUSY, KILLED, Phase.RUNNING, "it does not renew its lease", End.KILLED),
        (BUSY, 70, Phase.RUNNING, "it does not renew its lease", End.CRASHED),
    ],
)
def test_how_a_child_ended(stamp: Stamp, status: int, phase: Phase, doomed: str, end: End) -> None:
    assert plan.ending(worker(doomed=doomed), stamp, status, phase) is end


def test_a_drain_is_as_long_as_the_longest_queues() -> None:
    assert plan.drain_limit([(30, 10), (5, 60)]) == 65 + plan.DRAIN_MARGIN
    assert plan.drain_limit([(math.inf, 10), (5, 60)]) == math.inf
    assert plan.drain_limit([]) == plan.DRAIN_MARGIN


@given(st.floats(min_value=2, max_value=1e6), st.booleans())
def test_no_lease_can_begin_and_end_between_two_looks(lease: float, changed: bool) -> None:  # noqa: FBT001 - a drawn value
    seconds = plan.look_again(Limits(drain=30, shortest_lease=lease), None, changed=changed)
    assert 0.5 <= seconds <= min(plan.LONGEST_LOOK, lease - plan.margin(lease))


def test_while_a_child_starts_looks_are_quick_and_slow_down() -> None:
    limits = Limits(drain=30, shortest_lease=30)
    waits = [plan.look_again(limits, awaited, changed=False) for awaited in (0, 0.1, 1, 100)]
    assert waits == [0.005, 0.01, 0.1, plan.LONGEST_LOOK]


def test_of_failing_starts_few_are_logged() -> None:
    assert [n for n in range(1, 40) if plan.is_worth_a_line(n)] == [1, 2, 4, 8, 16, 32]


def test_ready_means_everybody() -> None:
    slots = [steward(), worker(), worker()]
    assert plan.all_started(slots, [IDLE, IDLE, BUSY])
    assert not plan.all_started(slots, [IDLE, IDLE, Stamp()])
    slots[0].pid = 0
    assert not plan.all_started(slots, [IDLE, IDLE, IDLE])
