"""When schedules are due: by the calendar, over missed times, steps of the clock and edits."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlqd.timetable import (
    MOST_AT_ONCE,
    NAMED,
    Cron,
    Decision,
    Every,
    Missed,
    Past,
    Schedule,
    Timetable,
    decide,
    parsed,
)

MIDNIGHT = 1_800_057_600.0
"""2027-01-16 00:00 UTC."""
HOURLY = Cron("0 * * * *", UTC)
HOUR = 3600.0


def schedule(table: Timetable = HOURLY, **more: object) -> Schedule:
    return Schedule(name="one", queue="mail", timetable=table, spec="spec", **more)  # type: ignore[arg-type]  # a test's own fields


@pytest.mark.parametrize(
    ("text", "fields"),
    [("0 3 * * *", "0 3 * * *"), ("  */5  *  * * mon-fri ", "*/5 * * * mon-fri"), ("@Daily", "0 0 * * *")],
)
def test_a_time_is_five_fields_or_a_name(text: str, fields: str) -> None:
    assert parsed(text) == fields


@pytest.mark.parametrize(
    "text", ["", "* * * *", "0 0 3 * * *", "@reboot", "61 * * * *", "0 0 31 2 *", "0 0 * * fun"]
)
def test_what_cron_does_not_know_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"needs five fields|is no time that cron knows"):
        parsed(text)


@pytest.mark.parametrize("name", NAMED)
def test_every_name_has_a_next_time(name: str) -> None:
    table = Cron(parsed(name), UTC)
    due = table.after(MIDNIGHT + 1)
    assert due is not None
    assert table.until(due) == due


def test_one_that_is_new_or_edited_does_nothing_for_the_past() -> None:
    assert decide(schedule(), None, MIDNIGHT + 1.0) == Decision((), "", MIDNIGHT + HOUR)


def test_a_time_that_has_come_is_run_once() -> None:
    due = decide(schedule(), Past(MIDNIGHT), MIDNIGHT + 0.5)
    assert due == Decision((MIDNIGHT,), "", MIDNIGHT + HOUR)
    assert due.next_at is not None
    assert decide(schedule(), Past(due.next_at, MIDNIGHT), MIDNIGHT + 0.6) == Decision((), "", due.next_at)


@pytest.mark.parametrize(
    ("missed", "due", "skipped"),
    [
        (Missed.ONCE, [0], "5 times were missed; one run stands for all"),
        (Missed.SKIP, [0], "5 times were missed; missed runs are skipped"),
        (Missed.ALL, [-5, -4, -3, -2, -1, 0], ""),
    ],
)
def test_missed_times_are_made_up_for_as_the_schedule_says(
    missed: Missed, due: list[int], skipped: str
) -> None:
    late = decide(schedule(missed=missed), Past(MIDNIGHT - 5 * HOUR, MIDNIGHT - 6 * HOUR), MIDNIGHT + 10.0)
    assert late == Decision(tuple(MIDNIGHT + hour * HOUR for hour in due), skipped, MIDNIGHT + HOUR)


def test_what_is_skipped_is_not_run_late() -> None:
    late = decide(schedule(missed=Missed.SKIP), Past(MIDNIGHT), MIDNIGHT + 61.0)
    assert late == Decision((), "1 time was missed; missed runs are skipped", MIDNIGHT + HOUR)


@pytest.mark.parametrize("table", [Cron("* * * * *", UTC), Every(60.0)])
@pytest.mark.parametrize("missed", Missed)
def test_a_year_asleep_floods_nothing(table: Timetable, missed: Missed) -> None:
    decision = decide(schedule(table, missed=missed), Past(MIDNIGHT - 365 * 86_400), MIDNIGHT + 5.0)
    assert len(decision.due) == (MOST_AT_ONCE if missed is Missed.ALL else 1)
    assert decision.due[-1] == MIDNIGHT
    assert decision.due == tuple(sorted(set(decision.due)))
    assert "or more times were missed" in decision.skipped
    assert decision.next_at == MIDNIGHT + 60.0


def test_a_clock_that_steps_back_runs_nothing_twice() -> None:
    after = decide(schedule(), Past(MIDNIGHT + HOUR, MIDNIGHT), MIDNIGHT - 1800.0)
    assert after == Decision((), "", MIDNIGHT + HOUR)
    assert decide(schedule(), Past(MIDNIGHT - HOUR, MIDNIGHT), MIDNIGHT + 1.0).due == ()


def test_a_clock_that_was_years_ahead_does_not_silence_it() -> None:
    ahead = MIDNIGHT + 10 * 365 * 86_400
    assert decide(schedule(), Past(ahead, ahead - HOUR), MIDNIGHT + 1.0) == Decision((), "", MIDNIGHT + HOUR)


@given(
    st.lists(st.floats(-200_000, 400_000), min_size=1, max_size=30),
    st.sampled_from([HOURLY, Cron("30 2 * * *", ZoneInfo("Europe/Berlin")), Every(5400.0)]),
    st.sampled_from(list(Missed)),
)
def test_no_time_is_run_twice_unless_the_clock_is_set_back_by_more_than_a_day(
    steps: list[float], table: Timetable, missed: Missed
) -> None:
    now = latest = MIDNIGHT
    past = None
    ran: list[float] = []
    one = schedule(table, missed=missed)
    for step in steps:
        now = max(now + step, latest - 86_400.0)
        latest = max(now, latest)
        decision = decide(one, past, now)
        assert all(due <= now for due in decision.due)
        ran += decision.due
        assert decision.next_at is not None
        assert decision.next_at > now
        last = decision.due[-1] if decision.due else past.last_at if past else None
        past = Past(decision.next_at, last)
    assert ran == sorted(set(ran))


def test_each_run_comes_later_by_its_own_share() -> None:
    one = schedule(jitter=600.0)
    delays = [(one.job(MIDNIGHT + hour * HOUR).run_at or 0.0) - MIDNIGHT - hour * HOUR for hour in range(24)]
    assert all(0.0 <= delay < 600.0 for delay in delays)
    assert len(set(delays)) > 20
    assert one.job(MIDNIGHT) == one.job(MIDNIGHT)


def test_keys_keep_runs_apart_or_one_at_a_time() -> None:
    assert schedule().job(MIDNIGHT).key == schedule().job(MIDNIGHT + HOUR).key == "schedule/one"
    keys = {schedule(overlap=True).job(MIDNIGHT + hour * HOUR).key for hour in range(3)}
    assert len(keys) == 3
    moment = datetime.fromtimestamp(MIDNIGHT, UTC)
    assert f"schedule/one/{moment:%Y-%m-%dT%H:%M:%SZ}" in keys
