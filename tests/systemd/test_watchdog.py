"""The watchdog: a daemon that stands still is restarted, with a word on where; one that works is not."""

from tests.support.service import Service

SLEEPER = '[queues.sleeper]\ncommand = "echo began; sleep 30"\ntimeout = "1min"\nlease = "2s"\n'


def test_a_parent_that_stands_still_is_restarted_and_shows_where_it_stood(service: Service) -> None:
    service.unit_lines("WatchdogSec=1", "RestartSec=100ms")
    service.start(SLEEPER)
    job = service.enqueue("sleeper")
    service.record("job.output", job_id=job)
    before = service.processes()
    service.systemctl("kill", "--kill-whom=main", "--signal=STOP")
    service.until(
        lambda: service.restarts == 1 and service.show("ActiveState") == "active", "it is restarted"
    )
    told = service.told()
    assert "Watchdog timeout" in told
    assert "sqlqd/parent/" in told, "the journal shows no Python stack"
    service.until(lambda: len(service.records("job.started", job_id=job)) == 2, "the job runs again")
    assert not before.keys() & service.processes().keys()


def test_a_daemon_that_works_is_left_alone(service: Service) -> None:
    service.unit_lines("WatchdogSec=1")
    service.start(SLEEPER)
    job = service.enqueue("sleeper")
    service.record("job.output", job_id=job)
    service.machine.good("sleep", "2.5")
    assert service.restarts == 0
    assert service.state(job) == "running"
