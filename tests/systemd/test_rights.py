"""Whose commands, whose secrets, and who is let in: with real users, under the units as they are shipped."""

import json

import pytest

from tests.support.service import Service

QUEUES = """
[defaults]
timeout = "1min"
lease = "2s"
kill_grace = "200ms"
[queues.who]
command = "id -un; id -Gn; echo $HOME; umask"
user = "alice"
[queues.scatter]
command = "(setsid sleep 300.5 &) ; (trap '' TERM; setsid sleep 301.5) & sleep 0.2; echo scattered"
user = "alice"
[queues.sleeper]
command = "echo began; exec sleep 302.5"
user = "mallory"
[queues.own]
command = "id -un"
[queues.closed]
command = "/root/program"
user = "alice"
"""


def lines(service: Service, job: str) -> list[str]:
    """What a job said, once it is done."""
    service.until_state(job, "done")
    return [record["line"] for record in service.records("job.output", job_id=job)]


def test_a_daemon_that_is_root_runs_commands_as_whom_their_queues_name(service: Service) -> None:
    service.drop_in("as-root")
    service.unit_lines("RestartSec=100ms")
    service.start(QUEUES)
    name, groups, home, _ = lines(service, service.enqueue("who", user="alice"))
    assert (name, home) == ("alice", "/home/alice")
    assert sorted(groups.split()) == ["alice", "sqlqd"]
    assert lines(service, service.enqueue("own")) == ["root"]
    assert lines(service, service.enqueue("scatter")) == ["scattered"]
    assert not [words for words in service.processes().values() if words.startswith("sleep")]
    # What is seen as that user, before it costs an attempt.
    held = service.enqueue("closed")
    assert "permission denied" in service.record("queue.blocked", queue="closed")["reason"]
    service.until_state(held, "ready")
    # What a dead worker leaves of somebody's is ended, and only then begun again.
    job = service.enqueue("sleeper")
    begun = service.record("job.output", job_id=job)
    service.machine.good("kill", "-KILL", service.record("worker.started", worker=begun["worker"])["pid"])
    service.until(lambda: len(service.records("job.started", job_id=job)) == 2, "the job runs again")
    assert sum("302.5" in words for words in service.processes().values()) == 1
    said = json.loads(service.sqlqd("check", "--json").stdout)
    assert [text for text in said["warnings"] if "PATH" in text or "root" in text] == [
        "queue closed: alice cannot execute /root/program"
    ]


def test_a_daemon_that_is_not_says_what_it_needs_and_changes_nothing(service: Service) -> None:
    service.start()
    service.configure(QUEUES)
    assert service.machine.run("systemctl", "reload", service.unit).returncode == 0
    why = service.record("daemon.reload_failed")["reason"]
    assert f"{service.config}:12: " in why
    assert "scripts/install --root" in why
    said = json.loads(service.sqlqd("check", "--json").stdout)
    assert any("scripts/install --root" in text and "sqlqd" in text for text in said["warnings"])
    service.systemctl("stop")
    service.machine.run("systemctl", "start", service.unit)
    assert service.show("ExecMainStatus") == "78"


def test_secrets_are_the_daemons_to_read(service: Service) -> None:
    service.start('[queues.tell]\ncommand = "echo $TOKEN"\nenv_file = "secrets-of-tests.env"\n')
    path = "/etc/sqlqd/secrets-of-tests.env"
    service.machine.write(path, "TOKEN='one two'\n", mode="0600")
    job = service.enqueue("tell")
    assert service.record("queue.blocked")["reason"] == f"env_file {path}: sqlqd may not read it"
    # Root, who could, is told what the daemon sees.
    said = json.loads(service.sqlqd("check", "--json").stdout)
    assert f"queue tell: env_file {path}: sqlqd may not read it" in said["warnings"]
    service.machine.good("chgrp", "sqlqd", path)
    service.machine.good("chmod", "640", path)
    assert service.sqlqd("retry", "--queue", "tell", user="alice").returncode == 0
    assert lines(service, job) == ["one two"]


SYNTAX = r"""
# a comment
; another one
PLAIN = a b  c ~
EMPTY=
QUOTED="a \"b\" \\ \$c \d 'e'"
SINGLE='a "b" \n $c'
JOINED="a"'b' "c" d
SEVERAL="one
two"
CONTINUED=a\
b
ESCAPED=a\ b\\c
HASH=a # b ; c
DOLLAR=$HOME ${HOME} %h
LATE = "quoted" ~
TWICE=1
TWICE=2
"""


def test_a_file_of_secrets_is_read_as_systemd_reads_it(service: Service) -> None:
    path = "/etc/sqlqd/syntax-of-tests.env"
    service.machine.write(path, SYNTAX)
    names = sorted({line.split("=")[0].strip() for line in SYNTAX.splitlines() if line[:1].isupper()})
    show = "; ".join(f"printf '%s=[%s]\\n' {name} \"${name}\"" for name in names)
    run = ("systemd-run", "--quiet", "--pipe", "--wait", "--collect")
    theirs = service.machine.good(*run, f"--property=EnvironmentFile={path}", "/bin/sh", "-c", show)
    service.start(f"[queues.show]\ncommand = {json.dumps(show)}\nenv_file = '{path}'\n")
    assert lines(service, service.enqueue("show")) == theirs.splitlines()


@pytest.mark.parametrize("daemon", ["up", "down"])
def test_whoever_is_not_of_the_group_hears_how_to_join_it(service: Service, daemon: str) -> None:
    service.start('[queues.note]\ncommand = "true"\n')
    if daemon == "down":
        service.systemctl("stop")
    join = "add yourself to group sqlqd: sudo usermod -aG sqlqd mallory, then log in again"
    for mode in ("644", "640"):
        service.machine.shell('chgrp sqlqd "$1"; chmod "$2" "$1"', service.config, mode)
        for verb in (("enqueue", "note"), ("list",), ("status",)):
            refused = service.sqlqd(*verb, user="mallory")
            assert (refused.returncode, refused.stdout) == (77, "")
            assert refused.stderr.endswith(f"; {join}\n")
            assert refused.stderr.count("\n") == 1
            taken = service.machine.run("sqlqd", "-i", service.name, *verb, user="alice")
            assert taken.returncode == 0, taken.stderr


def test_whoever_joined_after_logging_in_hears_that(service: Service) -> None:
    service.start('[queues.note]\ncommand = "true"\n')
    script = 'exec setpriv --clear-groups --reuid alice --regid alice -- sqlqd -c "$1" list 2>&1 || exit 0'
    told = service.machine.shell(f"({script}) || test $? = 77", service.config)
    assert told.endswith("you joined group sqlqd after you had logged in: log in again")
