"""Whoever of the group comes first, with whatever umask: the daemon and the others can write afterwards."""

import json

import pytest

from tests.support.service import Service

QUEUES = '[queues.note]\ncommand = "true"\n'


def enqueue(service: Service, user: str, umask: str) -> str:
    """Add a job as that user with that umask: its id."""
    script = f'umask {umask}; exec sqlqd --config "$1" enqueue note'
    return service.machine.shell(script, service.config, user=user)


@pytest.mark.case("X01")
@pytest.mark.parametrize("umask", ["000", "077", "777"])
@pytest.mark.parametrize("first", ["root", "alice"])
def test_the_first_may_be_anybody_of_the_group_with_any_umask(
    service: Service, first: str, umask: str
) -> None:
    service.start(QUEUES)
    service.systemctl("stop")
    service.machine.shell('rm "$1"*', service.database)
    second = {"root": "alice", "alice": "root"}[first]
    jobs = [enqueue(service, first, umask), enqueue(service, second, umask)]
    assert service.machine.good("stat", "--format=%a %G", service.database) == "660 sqlqd"
    service.systemctl("start")
    jobs += [enqueue(service, first, umask), enqueue(service, second, umask)]
    for job in jobs:
        service.until_state(job, "done")
    for side in ("-wal", "-shm"):
        assert service.machine.good("stat", "--format=%a %G", service.database + side) == "660 sqlqd"


@pytest.mark.case("X01")
@pytest.mark.parametrize("daemon", ["up", "down"])
def test_a_stranger_is_refused_in_one_line_that_says_what_would_help(service: Service, daemon: str) -> None:
    service.start(QUEUES)
    service.enqueue("note")
    if daemon == "down":
        service.systemctl("stop")
    for verb in (("enqueue", "note"), ("list",), ("status",)):
        refused = service.sqlqd(*verb, user="mallory")
        assert refused.returncode == 77, refused
        (line,) = refused.stderr.splitlines()
        assert "group sqlqd" in line
    if daemon == "down":
        service.systemctl("start")
    service.until_state(service.enqueue("note", user="alice"), "done")


@pytest.mark.case("X01")
def test_a_member_reads_and_changes_the_queue(service: Service) -> None:
    service.start('[queues.note]\ncommand = "false"\nmax_attempts = 1\n')
    job = service.enqueue("note", user="alice")
    service.until_state(job, "dead")
    shown = service.sqlqd("list", "--json", user="alice")
    assert [json.loads(line)["id"] for line in shown.stdout.splitlines()] == [job]
    assert service.sqlqd("retry", job, user="alice").returncode == 0
    service.until_state(job, "dead")
    assert json.loads(service.sqlqd("status", "--json", user="alice").stdout)["daemon"]["running"] is True
    assert service.sqlqd("purge", job, user="alice").returncode == 0
    assert service.jobs() == []
