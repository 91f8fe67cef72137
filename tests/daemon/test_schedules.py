"""A daemon adds the jobs of its schedules when their time has come, and says what it leaves out."""

from pathlib import Path

from tests.support.daemon import Daemon, until

SCHEDULES = """
[queues.quick]
command = "true"
timeout = "1min"

[queues.slow]
command = "sleep 100"
timeout = "1min"
kill_grace = "0s"

[schedules.each-second]
queue = "quick"
every = "1s"

[schedules.long]
queue = "slow"
every = "1s"
payload = "from the clock"

[schedules.nightly]
queue = "quick"
cron = "@daily"
timezone = "Europe/Berlin"
"""


def test_jobs_come_by_the_clock_and_one_at_a_time(tmp_path: Path) -> None:
    with Daemon(tmp_path, SCHEDULES, daemon='drain_timeout = "0s"') as daemon:
        daemon.start()
        until(lambda: len(daemon.events("job.finished", queue="quick")) >= 3, "three have run")
        assert daemon.event("schedule.skipped", schedule="long")["reason"].endswith("has not ended")
        assert len(daemon.events("job.started", queue="slow")) == 1
        daemon.stop()
        shown = daemon.sqlqd("schedules")
        assert shown.returncode == 0
        assert [line.split()[0] for line in shown.stdout.splitlines()] == [
            "SCHEDULE",
            "each-second",
            "long",
            "nightly",
        ]
        assert shown.stdout.splitlines()[-1].endswith("never")
        live = daemon.sqlqd("trigger", "long").stdout.strip()
        assert live == daemon.sql("SELECT id FROM jobs WHERE queue = 'slow'")
        added = daemon.sqlqd("trigger", "nightly").stdout.strip()
        assert daemon.sql(f"SELECT queue FROM jobs WHERE id = '{added}'") == "quick"
        assert daemon.sqlqd("trigger", "nightlie").returncode == 2
        assert "there are: " in daemon.sqlqd("trigger", "nope").stderr


def test_a_schedule_with_mistakes_is_refused_with_all_of_them(tmp_path: Path) -> None:
    text = """
[queues.quick]
command = "true"
[schedules.a]
queue = "quik"
cron = "@dayly"
[schedules.b]
queue = "quick"
[schedules.c]
queue = "quick"
cron = "0 3 * * *"
every = "1h"
missed = "all"
timezone = "Europe/Berln"
[queues.documents]
command = "true"
payload = "json"
max_payload = 10
[schedules.d]
queue = "documents"
every = "1h"
payload = "{'a': 1}"
[schedules.e]
queue = "documents"
every = "1h"
[schedules.f]
queue = "documents"
every = "1h"
payload = "[1, 2, 3, 4]"
"""
    with Daemon(tmp_path, text) as daemon:
        done = daemon.sqlqd("check")
        assert done.returncode == 78
        for said in (
            'schedule "a": queue: is no queue of this configuration (did you mean "quick"?)',
            'schedule "a": cron: needs five fields',
            'schedule "b": needs either cron or every',
            'schedule "c": needs either cron or every',
            'schedule "c": missed: "all" needs overlap = true',
            'schedule "c": timezone: is no time zone that this system knows: "Europe/Berln"',
            'schedule "d": payload: its queue would have each job dead at once: is not valid JSON: ',
            'schedule "e": payload: its queue would have each job dead at once: is not valid JSON: ',
            'schedule "f": payload: its queue would have each job dead at once: of 12 bytes is over',
        ):
            assert said in done.stderr
