"""When a new configuration is in force: pure, over slots and stamps."""

import math

import pytest

from sqlqd.parent import orders
from sqlqd.parent.plan import Limits, Slot, Stamp
from sqlqd.seat import Role

NOW = 1000.0
IDLE = Stamp(started=1.0, beat=NOW)
BUSY = Stamp(started=1.0, beat=NOW, busy=True)


def steward(generation: int = 2) -> Slot:
    return Slot(0, Role.STEWARD, pid=7, generation=generation)


def worker(generation: int = 2, **fields: object) -> Slot:
    slot = Slot(1, Role.WORKER, pid=8, generation=generation, told_at=math.inf if generation == 2 else NOW)
    for name, value in fields.items():
        setattr(slot, name, value)
    return slot


@pytest.mark.parametrize(
    ("slot", "stamp", "done"),
    [
        (worker(2), IDLE, True),
        (worker(2), Stamp(), False),
        # The old ones: whoever has a job may go on, who has none must be gone.
        (worker(1), BUSY, True),
        (worker(1), IDLE, False),
        (worker(1), Stamp(), False),
        # In a turn since before it was told: it may end its job and claim another.
        (worker(1), Stamp(started=1.0, busy=True, turn=NOW - 0.1), False),
        (worker(1), Stamp(started=1.0, busy=True, turn=NOW + 0.1), True),
        (worker(1, wanted=False), BUSY, True),
        (worker(1, wanted=False), IDLE, False),
        # Empty: to be filled, or not.
        (worker(1, pid=0), Stamp(), False),
        (worker(1, pid=0, wanted=False), Stamp(), True),
    ],
)
def test_what_is_awaited_of_a_worker(slot: Slot, stamp: Stamp, done: bool) -> None:  # noqa: FBT001 - a table's column
    assert orders.in_force([steward(), slot], [IDLE, stamp], 2) is done


def test_the_steward_must_be_a_new_one_at_work() -> None:
    assert not orders.in_force([steward(1), worker()], [IDLE, IDLE], 2)
    assert not orders.in_force([steward(2), worker()], [Stamp(), IDLE], 2)


def test_no_slot_is_awaited_that_cannot_be_filled_yet() -> None:
    slots = [steward(), worker(2, pid=0), worker(1, wanted=False)]
    assert orders.in_force(slots, [IDLE, Stamp(), BUSY], 2)


def test_limits_of_several_generations_hold_together() -> None:
    both = orders.together(
        [Limits(drain=30.0, shortest_lease=20.0), Limits(drain=math.inf, shortest_lease=60.0)]
    )
    assert both == Limits(drain=math.inf, shortest_lease=20.0)
