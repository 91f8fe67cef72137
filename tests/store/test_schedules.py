"""Schedules add a job for each time, exactly, whoever looks and however often."""

from datetime import UTC

import pytest

from sqlqd.model import Bury, Done, Retry, Selection
from sqlqd.store.base import Store
from sqlqd.timetable import Cron, Every, Missed, Past, Schedule, Timetable
from tests.support.clocks import TwoHands
from tests.support.stores import claimed


def schedule(
    table: Timetable, *, spec: str = "spec", overlap: bool = False, missed: Missed = Missed.ONCE
) -> Schedule:
    return Schedule(
        name="one", queue="mail", timetable=table, spec=spec, payload="p", overlap=overlap, missed=missed
    )


MINUTELY = Cron("* * * * *", UTC)


def to_the_minute(clock: TwoHands) -> None:
    clock.pass_by(60.0 - clock.wall() % 60.0)


@pytest.mark.parametrize("table", [MINUTELY, Every(60.0)])
def test_two_daemons_that_look_all_the_time_add_each_job_once(
    store: Store, other: Store, clock: TwoHands, table: Timetable
) -> None:
    one = schedule(table, overlap=True)
    to_the_minute(clock)
    added: list[str] = []
    for _ in range(50):
        for look in (store, other, store):
            (fired,) = look.fire([one])
            added += fired.jobs
            assert fired.kept_out_by == ()
        clock.pass_by(6.5)
    assert len(added) == len(set(added)) == 5
    assert len(list(store.find(Selection(queue="mail")))) == 5


def test_one_that_is_still_live_keeps_the_next_one_out(store: Store, clock: TwoHands) -> None:
    one = schedule(MINUTELY)
    store.fire([one])
    to_the_minute(clock)
    (first,) = store.fire([one])
    held = claimed(store)
    assert (first.jobs, held.payload) == ((held.id,), "p")
    clock.pass_by(60.0)
    assert store.fire([one])[0].kept_out_by == (held.id,)
    store.settle(held, Retry(clock.wall() + 600.0, "exit 1"))
    clock.pass_by(60.0)
    assert store.fire([one])[0].kept_out_by == (held.id,)
    clock.pass_by(600.0)
    store.settle(claimed(store), Bury("used up"))
    clock.pass_by(60.0)
    (last,) = store.fire([one])
    assert len(last.jobs) == 1
    assert last.skipped


def test_its_past_outlives_its_daemons_and_an_edit_begins_anew(
    store: Store, other: Store, clock: TwoHands
) -> None:
    one = schedule(MINUTELY)
    assert store.schedule_past(one) is None
    store.fire([one])
    to_the_minute(clock)
    moment = clock.wall()
    store.fire([one])
    assert other.schedule_past(one) == Past(moment + 60.0, moment)
    clock.pass_by(600.0)
    edited = schedule(MINUTELY, spec="another")
    store.adopt_schedules([edited])
    assert store.schedule_past(one) is None
    assert store.fire([edited])[0].jobs == ()
    # And the old one, should somebody want it back, knows nothing of the time between.
    clock.pass_by(600.0)
    store.adopt_schedules([one])
    assert store.fire([one])[0].jobs == ()


def test_a_done_job_makes_room_for_the_next(store: Store, clock: TwoHands) -> None:
    one = schedule(MINUTELY)
    store.fire([one])
    for _ in range(3):
        to_the_minute(clock)
        assert len(store.fire([one])[0].jobs) == 1
        store.settle(claimed(store), Done())
