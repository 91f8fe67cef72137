"""What the parent says of itself, and when it says nothing so that systemd starts it anew: pure."""

from dataclasses import replace

import pytest

from sqlqd.parent import plan, report
from sqlqd.parent.phases import Phase
from sqlqd.parent.plan import Slot, Stamp
from sqlqd.parent.report import Sight
from sqlqd.seat import Role

NOW = 1000.0
IDLE = Stamp(started=1.0, beat=NOW)
BUSY = Stamp(started=1.0, beat=NOW, busy=True)


def sight(phase: Phase = Phase.RUNNING, *, failures: int = 0, preparing: bool = False) -> Sight:
    slots = [Slot(at, Role.WORKER if at else Role.STEWARD, pid=40 + at, generation=1) for at in range(4)]
    slots[1].failures, slots[2].failures = failures, 1
    slots[3].wanted = False
    slots[3].pid = 0
    return Sight(
        phase=phase,
        generation=1,
        slots=slots,
        stamps=[IDLE, Stamp() if failures else IDLE, BUSY, Stamp()],
        ready=12,
        dead=3,
        preparing=preparing,
    )


@pytest.mark.parametrize(
    ("seen", "text"),
    [
        (sight(Phase.STARTING, preparing=True), "starting, preparing the database"),
        (sight(Phase.STARTING), "starting, 2 of 2 workers up"),
        (sight(), "1 of 2 workers busy, 12 ready, 3 dead"),
        (sight(Phase.RELOADING), "1 of 2 workers busy, 12 ready, 3 dead"),
        (sight(failures=2), "1 of 2 workers busy, 12 ready, 3 dead, 1 of 3 processes cannot start"),
        (
            replace(sight(), generation=2),
            "1 of 2 workers busy, 12 ready, 3 dead, 2 still by the old configuration",
        ),
        (sight(Phase.DRAINING), "stopping, 1 of 2 workers still busy"),
    ],
)
def test_status_for_people(seen: Sight, text: str) -> None:
    assert report.status(seen) == text
    assert text.isascii()


def test_a_refused_reload_stands_before_the_rest() -> None:
    line = report.status(sight(), "sqlqd.toml:8: unknown table [queue]")
    assert line == "reload failed: sqlqd.toml:8: unknown table [queue]; 1 of 2 workers busy, 12 ready, 3 dead"


def test_nothing_hangs_while_children_come_and_go_and_the_steward_moves_on() -> None:
    assert not report.hangs(sight(), NOW, sign=NOW - 60)
    seen = sight()
    for slot in seen.slots:
        slot.pid, slot.failures = 0, 9
    assert not report.hangs(seen, NOW, sign=NOW - 60)


def test_a_child_that_survives_its_killing_is_beyond_the_parent() -> None:
    seen = sight()
    victim = next(slot for slot in seen.slots if slot.index == 1)
    victim.doomed_at = NOW
    assert not report.hangs(seen, NOW + report.MENDING - 0.1, sign=NOW)
    assert report.hangs(seen, NOW + report.MENDING, sign=NOW).startswith("worker 1, process 41,")
    victim.pid = 0
    assert not report.hangs(seen, NOW + report.MENDING, sign=NOW)


def test_a_daemon_without_a_steward_for_long_is_beyond_the_parent() -> None:
    long = plan.STEWARD_PATIENCE + report.MENDING
    assert report.hangs(sight(), NOW + long, sign=NOW)
    assert report.hangs(sight(Phase.RELOADING), NOW + long, sign=NOW)
    for phase in (Phase.STARTING, Phase.DRAINING, Phase.KILLING):
        assert not report.hangs(sight(phase), NOW + 1e6, sign=NOW)
