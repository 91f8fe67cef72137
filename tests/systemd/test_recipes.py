"""The recipes of the documentation, as they stand there, on a machine that systemd runs."""

import json
import re
import shlex
from collections.abc import Iterator

import pytest

from tests.support.booted import SOURCES, Machine
from tests.support.daemon import until
from tests.support.service import Service

TEXT = (SOURCES / "docs" / "recipes.md").read_text(encoding="utf-8")
SECTIONS = {part.split("\n", 1)[0]: part for part in TEXT.split("\n## ")[1:]}
FILES = re.compile(r"^`(/[^`]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLACES = ("/usr/local/bin", "/srv")
UNIT = ".service", ".path", ".timer"

OTHER_QUEUES = """
[queues.unit-failed]
command = 'echo "failed: $(cat)"'
[queues.hook]
command = "cat"
max_waiting = 1
[queues.report]
command = "echo reported"
[queues.dies]
command = "exit 7"
max_attempts = 1
[queues.later]
command = "cat"
[queues.forgets]
command = "cat"
keep_done = "0s"
"""
"""What the recipes leave to whoever follows them."""

PROGRAMS = {
    "import": '#!/bin/sh\necho "imports $(cat -- "$1")"\n',
    "send": '#!/bin/sh\necho "sends with $(cat -- "$2")"\n',
    "alert": '#!/bin/sh\n[ ! -e /srv/nobody-listens ] || exit 1\n{ echo "$1"; cat; } >>/srv/alerts\n',
}
"""Stand-ins for the programs that the recipes take for given."""


def block(section: str, language: str) -> str:
    """All that a section has in blocks of this language."""
    return "".join(re.findall(rf"^```{language}\n(.*?)^```$", SECTIONS[section], re.MULTILINE | re.DOTALL))


def commands(text: str) -> list[str]:
    """The lines that a text has people type, without comments."""
    lines = re.findall(r"^    (?! )(.*)", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return [re.sub(r"\s+# .*", "", line) for line in lines]


@pytest.fixture
def followed(service: Service) -> Iterator[Service]:
    """The service, with the queues of all recipes."""
    recipes = "".join(block(section, "toml") for section in SECTIONS)
    service.start(f'[defaults]\ntimeout = "1min"\n{recipes}{OTHER_QUEUES}')
    for name, text in PROGRAMS.items():
        service.machine.write(f"/usr/local/bin/{name}", text, "0755")
    yield service
    for section in SECTIONS.values():
        units = [path.rsplit("/", 1)[1] for path, _ in FILES.findall(section) if path.endswith(UNIT)]
        if units:
            service.machine.run("systemctl", "disable", "--now", *units)


def follow(service: Service, section: str) -> None:
    """Write the files of a section and type what it has people type, for this instance."""
    found = FILES.findall(SECTIONS[section])
    assert found
    for path, text in found:
        target = path.replace("sqlqd.service.d", f"{service.unit}.d")
        service.machine.write(target, here(service, text), "0755" if "/bin/" in path else "0644")
    service.machine.good("systemctl", "daemon-reload")
    for line in commands(SECTIONS[section]):
        if line.startswith("sudo "):
            service.machine.shell(line.removeprefix("sudo "))


def here(service: Service, text: str) -> str:
    """A recipe's text, for this instance."""
    named = text.replace("sqlqd enqueue", f"sqlqd -i {service.name} enqueue")
    named = named.replace('"sqlqd", "enqueue"', f'"sqlqd", "-i", "{service.name}", "enqueue"')
    return re.sub(r"/var/lib/sqlqd\b(?!-)", service.home, named)


def output(service: Service, queue: str) -> str:
    return service.record("job.output", queue=queue)["line"]


def test_files_that_are_dropped_become_jobs(followed: Service) -> None:
    follow(followed, "A folder in which files are dropped")
    machine = followed.machine
    drop = 'cat >"/srv/.new"; chown sqlqd /srv/.new; mv /srv/.new "$1"'
    machine.shell(drop, "/srv/inbox/a file", stdin="from the file")
    assert output(followed, "inbox") == "imports from the file"
    left = "find /srv/inbox /srv/inbox-new /srv/inbox-accepted -mindepth 1"
    until(lambda: not machine.shell(left), "it is taken away")
    followed.sqlqd("pause", "inbox")
    # As if a run had died once it had added a job, and another before it moved its file.
    machine.shell(drop, "/srv/inbox-accepted/1-b", stdin="once")
    added = followed.enqueue("inbox", "/srv/inbox-accepted/1-b", "--key", "1-b")
    machine.shell("touch /srv/inbox-new/1-b /srv/inbox-new/2-c")
    machine.shell(drop, "/srv/inbox/a file", stdin="the same name again")
    until(lambda: len(followed.jobs("inbox")) == 2 and not machine.shell("ls /srv/inbox-new"), "both wait")
    followed.sqlqd("resume", "inbox")
    until(lambda: not machine.shell(left), "they are taken away")
    assert [record["line"] for record in followed.records("job.output", job_id=added)] == ["imports once"]
    assert followed.jobs() == []
    assert machine.show("inbox.path", "ActiveState")["ActiveState"] == "active"


def test_a_unit_that_fails_becomes_a_job(followed: Service) -> None:
    follow(followed, "A unit that failed")
    machine = followed.machine
    on_failure = block("A unit that failed", "ini").rpartition("[Unit]\n")[2]
    machine.write(
        "/run/systemd/system/breaks-at-night.service",
        f"[Unit]\n{on_failure}[Service]\nExecStart=/bin/false\n",
    )
    machine.good("systemctl", "daemon-reload")
    machine.run("systemctl", "start", "breaks-at-night")
    assert output(followed, "unit-failed") == "failed: breaks-at-night.service"


POST = """
import http.client, socket, sys
sender = http.client.HTTPConnection("127.0.0.1", 8017, timeout=20)
headers = dict(word.split("=") for word in sys.argv[2:])
try:
    sender.request("POST", sys.argv[1], sys.stdin.buffer.read() or None, headers)
    sender.sock.shutdown(socket.SHUT_WR)
    answer = sender.getresponse()
except ConnectionRefusedError:
    print()
else:
    print(answer.status, answer.read().decode() if answer.status == 202 else "")
"""


def test_a_webhook_answers_once_the_job_is_on_disk(followed: Service) -> None:
    follow(followed, "A webhook")
    machine = followed.machine
    machine.good("ip", "link", "set", "lo", "up")
    machine.good("systemctl", "start", "webhook")

    def post(path: str, body: str, *headers: str) -> list[str]:
        return machine.good("/usr/bin/python3", "-c", POST, path, *headers, stdin=body).split()

    status, job = until(lambda: post("/hook", "hello from the web"), "it listens")
    assert status == "202"
    followed.record("job.finished", job_id=job)
    assert output(followed, "hook") == "hello from the web"
    assert post("/other", "x") == ["404"]
    assert post("/hook", "", "Content-Length=65537") == ["413"]
    assert post("/hook", "", "Content-Length=-1") == ["411"]
    assert post("/hook", "", "Transfer-Encoding=chunked") == ["411"]
    assert post("/hook", "the connection br", "Content-Length=20") == ["400"]
    assert post("/hook", "\0") == ["400"]
    followed.sqlqd("pause", "hook")
    assert post("/hook", "waits")[0] == "202"
    assert post("/hook", "one too many") == ["503"]
    assert [job["state"] for job in followed.jobs("hook")] == ["ready"]


def test_a_credential_is_for_commands_alone(followed: Service) -> None:
    machine = followed.machine
    machine.write("/etc/credstore/smtp-password", "s3cret", "0600")
    follow(followed, "A secret for a command")
    followed.systemctl("restart")
    followed.enqueue("mail")
    assert output(followed, "mail") == "sends with s3cret"
    for user in ("sqlqd", "alice"):
        assert machine.run("cat", "/etc/credstore/smtp-password", user=user).returncode != 0
    inside = ("nsenter", f"--target={followed.pid}", "--mount", "--")
    held = f"/run/credentials/{followed.unit}/smtp-password"
    assert machine.good(*inside, "cat", held) == "s3cret"
    assert machine.run(*inside, "setpriv", "--reuid=alice", "--init-groups", "cat", held).returncode != 0


CONTAINER = """
[daemon]
database = "/srv/container/queue.db"
workers = 1
log_format = "json"
[queues.hello]
command = "(setsid sleep 0.2 &); until [ -e /srv/container/end ]; do sleep 0.05; done; echo ended"
timeout = "1min"
"""
IN_CONTAINER = """
mount --bind /srv/container/sqlqd.toml /etc/sqlqd/sqlqd.toml
exec "$@" >/srv/container/log 2>&1
"""
FIRST = """
pid=$1
for _ in shell unshare; do
    pid=$(cat "/proc/$pid/task/$pid/children" | cut -d ' ' -f 1)
done
echo "$pid"
"""
"""The process number, outside, of the container's first process."""


def left(machine: Machine) -> list[str]:
    """Processes that ended and were not reaped, and those that are about to end."""
    lines = machine.good("ps", "-eo", "stat=,args=").splitlines()
    return [line for line in lines if line.startswith("Z") or line.split()[1:] == ["sleep", "0.2"]]


def test_it_is_the_first_process_of_a_container(installed: Machine) -> None:
    words = re.findall(r"CMD (\[.*\])$", block("A container", "dockerfile"), re.MULTILINE)
    health, command = (json.loads(line) for line in words)
    (execs,) = (line for line in commands(SECTIONS["A container"]) if line.startswith("docker exec queue "))
    installed.write("/srv/container/sqlqd.toml", CONTAINER)
    contained = ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-euc", IN_CONTAINER, "sh")
    unit = ("systemd-run", "--quiet", "--unit=container", "--property=KillMode=mixed")
    installed.good(*unit, "sh", "-c", f"{shlex.join([*contained, *command])}; echo $? >/srv/container/status")

    def log() -> str:
        return installed.shell("cat /srv/container/log 2>/dev/null || true")

    until(lambda: "daemon.ready" in log(), "it is ready")
    first = installed.shell(FIRST, installed.show("container", "MainPID")["MainPID"])
    namespace = installed.shell('readlink "/proc/$1/ns/pid"', first)
    inside = ("nsenter", f"--target={first}", "--mount", "--pid", "--")
    assert installed.good(*inside, *health).startswith("ok: ")
    job = installed.good(*inside, *shlex.split(execs.removeprefix("docker exec queue ")))
    until(lambda: "job.started" in log(), "the job runs")
    # What somebody left by `docker exec` is nobody's child but the first process's.
    installed.good(*inside, "sh", "-c", "(sleep 0.2 &)")
    until(lambda: not left(installed), "what nobody waits for is reaped")
    installed.good("kill", "-TERM", first)
    until(lambda: "daemon.stopping" in log(), "it drains")
    installed.shell("touch /srv/container/end")
    assert until(lambda: installed.shell("cat /srv/container/status || true"), "it has ended") == "0"
    assert re.search(rf'"job.finished".*"{job}"', log())
    assert namespace not in installed.shell("readlink /proc/[0-9]*/ns/pid || true").splitlines()


SQL = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])"


def test_an_outbox_is_moved_once_whatever_dies(followed: Service) -> None:
    follow(followed, "An outbox")
    machine = followed.machine
    (line,) = commands(SECTIONS["An outbox"])
    relay = shlex.split(here(followed, line).replace("APPLICATION.db", "/srv/application.db"))

    def apply(sql: str) -> None:
        machine.good("/usr/bin/python3", "-c", SQL, "/srv/application.db", sql)

    def moved_twice(queue: str, job: str, ended: str) -> int:
        """How often it began, where the relay dies between its two steps and again, and then runs on."""
        apply(f"INSERT INTO outbox (id, queue, payload) VALUES ('{job}', '{queue}', 'said');")
        apply("CREATE TRIGGER dies BEFORE DELETE ON outbox BEGIN SELECT RAISE(ABORT, 'it dies'); END;")
        followed.sqlqd("pause", queue)
        for _ in range(2):
            assert "it dies" in machine.run(*relay).stderr
        assert [each["id"] for each in followed.jobs(queue)] == [job]
        followed.sqlqd("resume", queue)
        followed.record(ended, job_id=job)
        apply("DROP TRIGGER dies")
        machine.good(*relay)
        assert machine.good(*relay) == ""
        return len(followed.records("job.started", job_id=job))

    apply(block("An outbox", "sql"))
    assert moved_twice("later", "a" * 32, "job.finished") == 1
    assert moved_twice("dies", "b" * 32, "job.dead") == 1
    assert moved_twice("forgets", "c" * 32, "job.finished") >= 1
    until(lambda: len(followed.records("job.started", job_id="c" * 32)) == 2, "what left no record ran again")
    apply("INSERT INTO outbox (queue, payload) VALUES ('', 'said')")
    assert "queue must be text of 1 to 200 characters" in machine.run(*relay).stderr


def test_each_dead_job_is_told_of_once(followed: Service) -> None:
    follow(followed, "A job's story, and alerts")
    machine = followed.machine
    job = followed.enqueue("dies")
    followed.record("job.dead", job_id=job)

    def told() -> list[str]:
        machine.run("journalctl", "--sync")
        machine.run("systemctl", "start", "tell-of-dead-jobs.service")
        said = machine.shell("cat /srv/alerts 2>/dev/null || true").splitlines()
        return [line for line in said if f"dies {job[:8]} is dead: exit 7" in line]

    machine.shell("touch /srv/nobody-listens")
    assert told() == []
    machine.shell("rm /srv/nobody-listens")
    assert len(told()) == 1
    assert len(told()) == 1
    other = followed.enqueue("dies")
    followed.record("job.dead", job_id=other)
    assert len(told()) == 1
    assert f"dies {other[:8]} is dead" in machine.shell("cat /srv/alerts")
    assert machine.show("tell-of-dead-jobs.timer", "ActiveState")["ActiveState"] == "active"


def test_the_journal_tells_a_job_s_story(followed: Service) -> None:
    job = followed.enqueue("dies")
    followed.record("job.dead", job_id=job)
    lines = [
        line for line in commands(SECTIONS["A job's story, and alerts"]) if line.startswith("journalctl")
    ]
    story, failures, wrong = (line.replace("…", job).replace("=mail", "=dies") for line in lines)
    assert "attempt 1" in followed.machine.shell(story)
    assert job[:8] in followed.machine.shell(failures)
    assert job[:8] in followed.machine.shell(wrong)


def test_a_timer_adds_a_job_each_night(followed: Service) -> None:
    machine = followed.machine
    followed.sqlqd("pause", "report")
    follow(followed, "A nightly job")
    assert (
        machine.show("nightly-report.timer", "NextElapseUSecRealtime")["NextElapseUSecRealtime"].split()[2]
        == "02:30:00"
    )
    for _ in range(2):
        machine.good("systemctl", "start", "nightly-report")
    assert [job["key"] for job in followed.jobs("report")] == ["nightly"]
    followed.sqlqd("resume", "report")
    assert output(followed, "report") == "reported"


def test_another_service_beside_the_first_takes_four_lines(installed: Machine) -> None:
    linked = re.search(r"\(install\.md#([\w-]+)\)", SECTIONS["Several queues on one machine"])
    assert linked
    title = linked[1].replace("-", " ").capitalize()
    section = (SOURCES / "docs" / "install.md").read_text(encoding="utf-8").split(f"## {title}\n")[1]
    try:
        for line in commands(section.split("\n## ")[0]):
            installed.shell(line.removeprefix("sudo "))
        assert installed.good("sqlqd", "-i", "mail", "health").startswith("ok: ")
        assert installed.good("stat", "--format=%U %a", "/var/lib/sqlqd-mail") == "sqlqd 2770"
    finally:
        installed.run("systemctl", "disable", "--now", "sqlqd@mail")
        installed.shell("rm -rf /etc/sqlqd/mail.toml /var/lib/sqlqd-mail")


def test_every_section_with_files_is_tried() -> None:
    tried = (SOURCES / "tests" / "systemd" / "test_recipes.py").read_text(encoding="utf-8")
    assert [name for name, part in SECTIONS.items() if FILES.search(part) and f'"{name}"' not in tried] == []
