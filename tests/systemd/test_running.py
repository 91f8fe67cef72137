"""The service from its start to its end, as systemctl shows it."""

import re
import time

import pytest

from tests.support.service import Service

SLEEPER = """
[queues.sleeper]
command = "echo began; sleep $(cat); echo ended"
timeout = "1min"
lease = "2s"
"""


def test_it_is_ready_only_when_every_worker_has_opened_the_database(service: Service) -> None:
    service.start(workers=3)
    assert service.show("ActiveState") == "active"
    assert len(service.records("worker.started")) == 3


def test_it_is_not_ready_while_the_database_is_locked(service: Service) -> None:
    service.start(SLEEPER)
    service.systemctl("stop")
    with service.locked():
        service.systemctl("start", "--no-block")
        service.until(lambda: service.show("StatusText").startswith("starting"), "it says that it starts")
        time.sleep(0.5)
        assert service.show("ActiveState") == "activating"
    service.until(lambda: service.show("ActiveState") == "active", "it is ready")
    assert service.restarts == 0


def test_its_status_reads_like_a_cockpit(service: Service) -> None:
    service.start(SLEEPER, workers=1)
    service.until(lambda: "0 of 1 workers busy" in service.show("StatusText"), "it is told that none is busy")
    running = service.enqueue("sleeper", "10")
    service.enqueue("sleeper", "10")
    service.enqueue("sleeper", "10")
    service.until(
        lambda: service.show("StatusText") == "1 of 1 workers busy, 2 ready, 0 dead", "it is told that one is"
    )
    shown = service.status()
    assert 'Status: "1 of 1 workers busy, 2 ready, 0 dead"' in shown
    assert f"sqlqd: parent, {service.config}" in shown
    assert f"worker 1: sleeper {running[:8]}, attempt 1" in shown
    assert "sleep 10" in shown
    assert re.search(r"sqlqd-[0-9a-f]{9} steward", shown)
    assert f"sleeper {running[:8]} started, attempt 1" in shown


def test_a_stop_lets_a_running_command_end(service: Service) -> None:
    service.start(SLEEPER)
    job = service.enqueue("sleeper", "1.5")
    service.record("job.output", job_id=job)
    service.systemctl("stop")
    assert service.show("Result") == "success"
    assert service.state(job) == "done"
    assert not service.processes()


def test_a_drain_may_last_longer_than_systemd_waits_for_a_stop(service: Service) -> None:
    service.unit_lines("TimeoutStopSec=1")
    service.start(SLEEPER, daemon='drain_timeout = "20s"')
    job = service.enqueue("sleeper", "3")
    service.record("job.output", job_id=job)
    service.systemctl("stop")
    assert service.show("Result") == "success"
    assert service.state(job) == "done"


def test_a_restart_takes_nothing_from_waiting_and_running_jobs(service: Service) -> None:
    service.start(f'{SLEEPER}drain_timeout = "200ms"\nkill_grace = "200ms"\n', workers=1)
    running, waiting = service.enqueue("sleeper", "50"), service.enqueue("sleeper", "0")
    service.record("job.output", job_id=running)
    service.systemctl("restart")
    service.record("job.released", job_id=running)
    service.until(lambda: len(service.records("job.started", job_id=running)) == 2, "it runs again")
    jobs = {job["id"]: job for job in service.jobs()}
    assert jobs[running]["attempts"] == 1
    assert jobs[waiting]["state"] == "ready"
    assert service.restarts == 0


@pytest.mark.parametrize("whom", ["main", "all"])
def test_a_killed_daemon_leaves_no_command_and_runs_its_job_again(service: Service, whom: str) -> None:
    service.unit_lines("RestartSec=100ms")
    service.start(SLEEPER)
    job = service.enqueue("sleeper", "51.25")
    service.record("job.output", job_id=job)
    before = service.processes()
    service.systemctl("kill", f"--kill-whom={whom}", "--signal=KILL")
    service.until(
        lambda: service.restarts == 1 and service.show("ActiveState") == "active", "it is restarted"
    )
    service.until(lambda: len(service.records("job.started", job_id=job)) == 2, "the job runs again")
    assert not before.keys() & service.processes().keys()


@pytest.mark.parametrize("broken", ["workers = 0", "[daemon"])
def test_a_broken_configuration_is_not_started_again_and_again(service: Service, broken: str) -> None:
    service.machine.write(service.config, broken)
    refused = service.machine.run("systemctl", "start", service.unit)
    assert refused.returncode != 0
    assert service.show("ExecMainStatus") == "78"
    assert service.show("ActiveState") == "failed"
    assert service.restarts == 0
    assert service.config in service.told()


def test_a_daemon_that_dies_again_and_again_is_given_up(service: Service) -> None:
    service.unit_lines("RestartSec=10ms")
    service.start()

    def strike() -> bool:
        service.machine.run("systemctl", "kill", "--kill-whom=main", "--signal=KILL", service.unit)
        return service.show("ActiveState") == "failed"

    service.until(strike, "systemd gives it up")
    assert service.show("Result") == "start-limit-hit" or service.restarts <= 10
    assert not service.processes()
    service.machine.good("systemctl", "reset-failed", service.unit)
    service.systemctl("start")
