"""The recipes of the documentation, as they stand there, on a machine that systemd runs."""

import re
from collections.abc import Iterator

import pytest

from tests.support.booted import SOURCES, Machine
from tests.support.daemon import until
from tests.support.service import Service

TEXT = (SOURCES / "docs" / "recipes.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in TEXT.split("\n## ")[1:]}
FILES = re.compile(r"^`(/[^`]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)

QUEUES = """
[queues.inbox]
command = 'cat -- "$SQLQD_PAYLOAD" && rm -- "$SQLQD_PAYLOAD"'
timeout = "1min"
[queues.unit-failed]
command = 'echo "failed: $(cat)"'
timeout = "1min"
[queues.hook]
command = "cat"
timeout = "1min"
[queues.secret]
command = 'cat "$CREDENTIALS_DIRECTORY/smtp-password"'
timeout = "1min"
[queues.dies]
command = "exit 7"
max_attempts = 1
timeout = "1min"
"""


@pytest.fixture
def follow(service: Service) -> Iterator[Service]:
    """The service, with the queues of all recipes."""
    service.start(QUEUES)
    yield service
    for section in SECTIONS.values():
        for path, _ in FILES.findall(section):
            service.machine.run("systemctl", "disable", "--now", path.rsplit("/", 1)[1])


def put(service: Service, section: str) -> None:
    """Write the files of a section, for this instance."""
    found = FILES.findall(SECTIONS[section])
    assert found
    for path, text in found:
        named = text.replace("sqlqd enqueue", f"sqlqd -i {service.name} enqueue")
        named = named.replace('"sqlqd", "enqueue"', f'"sqlqd", "-i", "{service.name}", "enqueue"')
        target = path.replace("sqlqd.service.d", f"{service.unit}.d")
        service.machine.write(target, named, "0755" if "/bin/" in path else "0644")
    service.machine.good("systemctl", "daemon-reload")


def output(service: Service, queue: str) -> str:
    return service.record("job.output", queue=queue)["line"]


def test_files_that_are_dropped_become_jobs(follow: Service) -> None:
    machine = follow.machine
    machine.shell("mkdir -p /srv/inbox /srv/accepted; chown sqlqd /srv/inbox /srv/accepted")
    put(follow, "A folder in which files are dropped")
    machine.good("systemctl", "enable", "--now", "inbox.path")
    machine.write("/srv/a file", "from the file")
    machine.shell("chown sqlqd '/srv/a file'; mv '/srv/a file' /srv/inbox/")
    assert output(follow, "inbox") == "from the file"
    until(lambda: not machine.shell("ls /srv/inbox /srv/accepted | grep file || true"), "it is taken away")
    assert machine.show("inbox.service", "Result")["Result"] == "success"


def test_a_unit_that_fails_becomes_a_job(follow: Service) -> None:
    put(follow, "A unit that failed")
    machine = follow.machine
    machine.write(
        "/run/systemd/system/breaks.service",
        "[Unit]\nOnFailure=failed-job@%n.service\n[Service]\nExecStart=/bin/false\n",
    )
    machine.good("systemctl", "daemon-reload")
    machine.run("systemctl", "start", "breaks")
    assert output(follow, "unit-failed") == "failed: breaks.service"


def test_a_webhook_answers_once_the_job_is_on_disk(follow: Service) -> None:
    put(follow, "A webhook")
    machine = follow.machine
    machine.good("ip", "link", "set", "lo", "up")
    machine.good("systemctl", "start", "webhook")

    def post(path: str, body: str) -> str:
        script = """
import sys, urllib.error, urllib.request
address = "http://127.0.0.1:8017" + sys.argv[1]
try:
    answer = urllib.request.urlopen(address, sys.stdin.buffer.read(), timeout=20)
    print(answer.status, answer.read().decode())
except urllib.error.HTTPError as error:
    print(error.code)
except urllib.error.URLError:
    print(0)
"""
        return machine.good("/usr/bin/python3", "-c", script, path, stdin=body)

    answer = until(lambda: post("/hook", "hello from the web").removeprefix("0"), "it listens")
    status, job = answer.split()
    assert status == "202"
    follow.record("job.finished", job_id=job)
    assert output(follow, "hook") == "hello from the web"
    assert post("/other", "x") == "404"
    assert post("/hook", "x" * 70_000) == "413"


def test_a_credential_is_for_commands_alone(follow: Service) -> None:
    put(follow, "A secret for a command")
    machine = follow.machine
    machine.write("/etc/credstore/smtp-password", "s3cret", "0600")
    plain = "LoadCredential=smtp-password:/etc/credstore/smtp-password"
    reads = ("systemd-run", "--quiet", "--wait", "--pipe", "--property=User=sqlqd", f"--property={plain}")
    control = machine.run(*reads, "sh", "-c", 'cat "$CREDENTIALS_DIRECTORY/smtp-password"')
    if control.returncode != 0:
        pytest.skip(f"systemd gives no user a credential here: {control.stderr.strip()}")
    follow.systemctl("restart")
    follow.enqueue("secret")
    assert output(follow, "secret") == "s3cret"
    assert machine.run("cat", "/etc/credstore/smtp-password", user="sqlqd").returncode != 0


CONTAINER = """
[daemon]
database = "/srv/container/queue.db"
workers = 1
log_format = "json"
[queues.orphans]
command = "(setsid sh -c 'sleep 0.2; exit 3' &) ; sleep $(cat); echo ended"
timeout = "1min"
"""


def test_it_is_the_first_process_of_a_container(installed: Machine) -> None:
    assert 'CMD ["sqlqd", "run"]' in SECTIONS["A container"]
    installed.write("/srv/container/sqlqd.toml", CONTAINER)
    config = ("--config", "/srv/container/sqlqd.toml")
    said = "/srv/container/log"
    inside = f"exec sqlqd {' '.join(config)} run >{said} 2>&1"
    unit = ("systemd-run", "--quiet", "--unit=container", "--property=KillMode=mixed")
    script = f"unshare --pid --fork --mount-proc --kill-child sh -c '{inside}'"
    installed.good(*unit, "sh", "-c", script)
    until(lambda: "daemon.ready" in installed.shell(f"cat {said} 2>/dev/null || true"), "it is ready")
    job = installed.good("sqlqd", *config, "enqueue", "orphans", "1")
    until(lambda: "job.started" in installed.shell(f"cat {said}"), "the job runs")
    parent = installed.shell("grep -l '[s]qlqd: parent, /srv/container' /proc/[0-9]*/cmdline | cut -d/ -f3")
    assert re.search(r"\s1$", installed.shell(f"grep NSpid /proc/{parent}/status"))
    installed.good("kill", "-TERM", parent)
    until(lambda: "daemon.stopped" in installed.shell(f"cat {said}"), "it has drained")
    log = installed.shell(f"cat {said}")
    assert re.search(rf'"job.finished".*"{job}"', log)
    assert "zombie" not in installed.shell("ps -eo stat,args | grep '^Z' | sed 's/^/zombie /' || true")


def test_an_outbox_is_moved_once_whatever_dies(installed: Machine, service: Service) -> None:
    service.start('[queues.later]\ncommand = "cat"\ntimeout = "1min"\n')
    put(service, "An outbox")
    (schema,) = re.findall(r"```sql\n(.*?)```", SECTIONS["An outbox"], re.DOTALL)
    insert = "INSERT INTO outbox (id, queue, payload) VALUES ('{}', 'later', 'from the outbox');"
    application = "/srv/application.db"
    query = (
        "/usr/bin/python3",
        "-c",
        "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])",
    )
    relay = ("/usr/local/bin/outbox-relay", application, service.database)
    job = "f" * 32
    installed.good(*query, application, schema + insert.format(job) + insert.format("e" * 32))
    installed.good(*relay)
    for each in (job, "e" * 32):
        service.record("job.finished", job_id=each)
    # As if it had died before it deleted: the same row again, now that its job is done.
    installed.good(*query, application, insert.format(job))
    installed.good(*relay)
    assert len(service.records("job.started", job_id=job)) == 1
    assert service.jobs() == []


def test_each_dead_job_is_told_of_once(follow: Service) -> None:
    put(follow, "A job's story, and alerts")
    machine = follow.machine
    machine.write("/usr/local/bin/alert", '#!/bin/sh\n{ echo "$1"; cat; } >>/srv/alerts\n', "0755")
    job = follow.enqueue("dies")
    follow.record("job.dead", job_id=job)
    for _ in range(2):
        machine.run("journalctl", "--sync")
        machine.good("systemctl", "start", "tell-of-dead-jobs.service")
    told = machine.good("cat", "/srv/alerts").splitlines()
    assert sum(f"dies {job[:8]} is dead: exit 7" in line for line in told) == 1
    assert machine.good("systemd-analyze", "calendar", "minutely")
    machine.good("systemctl", "start", "tell-of-dead-jobs.timer")


def test_every_section_with_files_is_tried() -> None:
    tried = (SOURCES / "tests" / "systemd" / "test_recipes.py").read_text(encoding="utf-8")
    assert [name for name, part in SECTIONS.items() if FILES.search(part) and f'"{name}"' not in tried] == []
