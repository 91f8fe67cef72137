"""A cgroup for each job, where the unit delegates its own; and nothing of the kind where it does not."""

import pytest

from tests.support.service import Service

DELEGATED = ("Delegate=yes", "ProtectControlGroups=no", "RestartSec=100ms")

# Sessions of their own and double forks, some deaf to SIGTERM, and a relay of processes that fork and exit.
SCATTER = """
(setsid sh -c '(setsid sleep 300 &) ; trap "" TERM ; setsid sleep 301 & exit 0' &)
(setsid sh -c 'relay() { (relay &) ; } ; relay ; sleep 302' &)
"""

QUEUES = f'''
[defaults]
timeout = "1min"
lease = "2s"
kill_grace = "200ms"

[queues.sleeper]
command = "echo began; sleep 50.5"

[queues.scatter]
command = """{SCATTER}
sleep 0.3; echo scattered"""

[queues.burner]
command = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done & wait"

[queues.eater]
command = ["python3", "-c", "import time; x = bytearray(400_000_000); time.sleep(9)"]
memory_max = "64M"
max_attempts = 1

[queues.forker]
command = "for i in 1 2 3 4 5 6 7 8; do sleep 5 & done; echo forked"
tasks_max = 4
max_attempts = 1

[queues.throttled]
command = "cat /proc/self/cgroup; i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done"
cpu_quota = "20%"
'''


def cgroups(service: Service) -> dict[str, list[int]]:
    """The processes of each cgroup below the unit's, by its name; those of the unit itself under ""."""
    script = """
        cd /sys/fs/cgroup"$1"
        for folder in . $(find . -mindepth 1 -type d); do echo "$folder" $(cat "$folder/cgroup.procs"); done
    """
    lines = service.machine.shell(script, service.show("ControlGroup")).splitlines()
    return {name[2:]: [int(pid) for pid in pids] for name, *pids in (line.split() for line in lines)}


def jobs_of(service: Service) -> dict[str, list[int]]:
    return {name: pids for name, pids in cgroups(service).items() if name not in ("", "daemon", ".control")}


def delegated(service: Service, *, workers: int = 2, lines: tuple[str, ...] = ()) -> Service:
    service.unit_lines(*DELEGATED, *lines)
    service.start(QUEUES, workers=workers)
    return service


def needs(service: Service, controller: str) -> None:
    """Skip the test where systemd has no such controller to give."""
    given = service.machine.shell("cat /sys/fs/cgroup/cgroup.controllers").split()
    if controller not in given:
        pytest.skip(f"this kernel's cgroup2 has no controller {controller} to give")


def test_a_job_is_in_a_cgroup_of_its_own_that_is_gone_with_it(service: Service) -> None:
    delegated(service)
    job = service.enqueue("sleeper")
    service.record("job.output", job_id=job)
    [(name, pids)] = jobs_of(service).items()
    assert name in (f"worker-1-{job[:12]}", f"worker-2-{job[:12]}")
    running = service.processes()
    assert {running[pid].split()[0] for pid in pids} == {"/bin/sh", "sleep"}
    assert cgroups(service)[""] == []
    assert service.pid in cgroups(service)["daemon"]
    shown = service.status()
    assert f"─{name}" in shown
    assert "sqlqd: parent" in shown
    service.sqlqd("kill", job)
    service.record("job.failed", job_id=job)
    assert not jobs_of(service)
    service.systemctl("reload")
    service.systemctl("stop")
    assert service.show("Result") == "success"


def test_nothing_that_a_job_scattered_outlives_it_and_all_of_it_is_counted(service: Service) -> None:
    delegated(service)
    scattered, burnt = service.enqueue("scatter"), service.enqueue("burner")
    service.record("job.finished", job_id=scattered)
    assert not [words for words in service.processes().values() if "sleep 30" in words]
    assert float(service.record("job.finished", job_id=burnt)["cpu_seconds"]) > 0.02
    assert not jobs_of(service)


def test_the_cgroup_of_a_dead_worker_is_empty_before_its_job_runs_again(service: Service) -> None:
    delegated(service, workers=1)
    job = service.enqueue("sleeper")
    service.record("job.output", job_id=job)
    [pids] = jobs_of(service).values()
    [worker] = [pid for pid, words in service.processes().items() if "worker 1" in words]
    service.machine.good("kill", "-KILL", str(worker))
    service.until(lambda: len(service.records("job.started", job_id=job)) == 2, "it runs again")
    [again] = jobs_of(service).values()
    assert not set(pids) & service.processes().keys()
    assert not set(pids) & set(again)


def test_what_a_killed_daemon_left_is_ended_by_the_next(service: Service) -> None:
    """systemd itself would end it: here it is told to leave all but the main process alone."""
    delegated(service, lines=("KillMode=process",))
    job = service.enqueue("sleeper")
    service.record("job.output", job_id=job)
    [pids] = jobs_of(service).values()
    # Workers that stand still cannot end what they run.
    workers = [str(pid) for pid, words in service.processes().items() if "worker" in words]
    service.machine.good("kill", "-STOP", *workers)
    service.systemctl("kill", "--kill-whom=main", "--signal=KILL")
    service.until(lambda: len(service.records("job.started", job_id=job)) == 2, "it runs again")
    assert not set(pids) & service.processes().keys()
    assert len(jobs_of(service)) == 1


@pytest.mark.parametrize("lines", [("Delegate=no",), ("Delegate=yes", "ProtectControlGroups=yes")])
def test_without_delegation_no_cgroup_is_made_and_all_works(service: Service, lines: tuple[str, ...]) -> None:
    service.unit_lines(*lines)
    service.start(QUEUES)
    job, burnt = service.enqueue("sleeper"), service.enqueue("burner")
    service.record("job.output", job_id=job)
    assert set(cgroups(service)) == {""}
    assert float(service.record("job.finished", job_id=burnt)["cpu_seconds"]) > 0.02
    assert service.records("queue.limits_missing", queue="throttled")
    told = service.sqlqd("check").stdout
    assert "cpu_quota is not in force" in told
    assert "Delegate=yes" in told


def test_a_daemon_of_root_sees_that_nothing_is_delegated(service: Service) -> None:
    service.unit_lines("User=root", "Delegate=no", "ProtectControlGroups=no")
    service.start(QUEUES)
    assert set(cgroups(service)) == {""}


def test_a_job_that_needs_more_memory_than_it_may_is_ended_whole(service: Service) -> None:
    delegated(service)
    needs(service, "memory")
    job = service.enqueue("eater")
    failed = service.record("job.failed", job_id=job)
    assert failed["reason"] == "killed by SIGKILL (it used more than memory_max = 64MiB)"
    assert 0 < int(failed["memory_peak_bytes"]) <= 64 * 1024**2


def test_a_job_has_no_more_processes_than_it_may(service: Service) -> None:
    delegated(service)
    needs(service, "pids")
    job = service.enqueue("forker")
    assert "fork" in service.record("job.output", job_id=job)["line"].lower()
    service.record("job.failed", job_id=job)


def test_a_job_has_no_more_of_a_processor_than_it_may(service: Service) -> None:
    delegated(service)
    needs(service, "cpu")
    done = service.record("job.finished", job_id=service.enqueue("throttled"))
    assert float(done["duration_seconds"]) > 2.5 * float(done["cpu_seconds"])
