"""Local times that do not exist run at the jump, those that come twice run once, whole days of them."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from sqlqd.timetable import Cron, Missed, Past, Schedule, decide

BERLIN, SAO_PAULO = "Europe/Berlin", "America/Sao_Paulo"


def runs(zone: str, fields: str, day: tuple[int, int, int], looks: float = 300.0) -> list[str]:
    """The times of one local day at which somebody who looks every few minutes runs it, in UTC."""
    table = Cron(fields, ZoneInfo(zone))
    one = Schedule(name="x", queue="mail", timetable=table, spec="", missed=Missed.SKIP)
    start = datetime(*day, tzinfo=ZoneInfo(zone)).timestamp()
    now, past = start - 1.0, None
    found: list[float] = []
    while now < start + 26 * 3600:
        decision = decide(one, past, now)
        found += decision.due
        assert decision.next_at is not None
        last = decision.due[-1] if decision.due else past.last_at if past else None
        past = Past(decision.next_at, last)
        now = min(now + looks, max(decision.next_at, now + 1.0))
    local = [datetime.fromtimestamp(due, ZoneInfo(zone)) for due in found]
    return [f"{at.astimezone(UTC):%H:%M}" for at in local if at.day == day[2]]


@pytest.mark.case("X04")
@pytest.mark.parametrize(
    ("zone", "fields", "day", "expected"),
    [
        # 02:30 does not exist: the jump is at 01:00 UTC.
        (BERLIN, "30 2 * * *", (2026, 3, 29), ["01:00"]),
        # 02:30 comes twice: the first counts.
        (BERLIN, "30 2 * * *", (2026, 10, 25), ["00:30"]),
        (BERLIN, "30 2 * * *", (2026, 6, 1), ["00:30"]),
        # Midnight itself did not exist in Brazil.
        (SAO_PAULO, "0 0 * * *", (2018, 11, 4), ["03:00"]),
    ],
)
def test_a_fixed_time_runs_once_a_day(
    zone: str, fields: str, day: tuple[int, int, int], expected: list[str]
) -> None:
    assert runs(zone, fields, day) == expected


@pytest.mark.case("X04")
@pytest.mark.parametrize(("day", "hours"), [((2026, 3, 29), 23), ((2026, 10, 25), 25), ((2026, 6, 1), 24)])
def test_every_hour_goes_on_by_real_time(day: tuple[int, int, int], hours: int) -> None:
    assert len(runs(BERLIN, "0 * * * *", day)) == hours
