"""`scripts/install`, from an empty machine to one without sqlqd again, with jobs in between."""

import json
import os
import re
from collections.abc import Iterator

import pytest

from tests.support.booted import Machine, booted, hindrance, unless
from tests.support.daemon import until
from tests.support.service import INSTALLER, OFFLINE, bring_wheels, install

CONFIG = "/etc/sqlqd/sqlqd.toml"
DATABASE = "/var/lib/sqlqd/queue.db"
SLEEPER = f"""
[daemon]
database = "{DATABASE}"
workers = 1
[queues.sleeper]
command = "id --user --name; id --groups --name; umask; sleep $SQLQD_PAYLOAD"
max_attempts = 1
timeout = "1min"
"""
APPLICATION = """
[daemon]
database = "/srv/own/queue.db"
"""


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """A machine of this file's own: in the others', sqlqd stays."""
    unless(hindrance(), os.environ)
    with booted() as machine:
        unless(bring_wheels(machine), os.environ)
        for user in ("alice", "mallory"):
            machine.good("useradd", "--create-home", "--user-group", user)
        yield machine


@pytest.fixture
def fresh(machine: Machine) -> Iterator[Machine]:
    """The machine without sqlqd, which it is again afterwards."""
    yield machine
    install(machine, "--remove")
    machine.shell("rm -rf /etc/sqlqd /var/lib/sqlqd* /var/cache/sqlqd")


def installed(machine: Machine, *options: str) -> str:
    """Install it with these options, successfully: what was printed."""
    done = install(machine, *options)
    if done.returncode != 0:
        told = machine.run("journalctl", "--no-pager", "-n", "30", "-u", "sqlqd").stdout
        raise AssertionError(f"{done.stdout}{done.stderr}{told}")
    return done.stdout


def configure(machine: Machine) -> None:
    """Give the service a queue, in the file that was installed."""
    machine.shell(f"cat >{CONFIG}; systemctl reload sqlqd", stdin=SLEEPER)


def mode(machine: Machine, path: str) -> str:
    return machine.good("stat", "--format=%a %U:%G", path)


def files(machine: Machine) -> set[str]:
    """Every file that an installation could touch, and by what one sees that it was."""
    where = "/etc /usr /opt /home /srv /var/lib /var/cache /root"
    return set(
        machine.shell(rf"find {where} -xdev -newer /etc/machine-id -printf '%p %m %u %T@\n'").splitlines()
    )


def output(machine: Machine, job: str) -> list[str]:
    """What a job said, once it is done."""
    shown = until(lambda: _ended(machine, job), f"{job} ends")
    assert shown["state"] == "done", shown
    assert shown["attempts"] == 1
    said = machine.journal(f"SQLQD_JOB_ID={job}", "SQLQD_EVENT=job.output")
    return [entry["SQLQD_LINE"] for entry in said]


def _ended(machine: Machine, job: str) -> dict[str, object] | None:
    shown: dict[str, object] = json.loads(machine.good("sqlqd", "show", "--json", job))
    return shown if shown["state"] in ("done", "dead") else None


def test_one_command_makes_a_service_for_the_members_of_its_group(fresh: Machine) -> None:
    before = files(fresh)
    planned = installed(fresh, "--dry-run", "--allow", "alice")
    assert files(fresh) == before
    for target in ("/opt/sqlqd", "/usr/local/bin/sqlqd", CONFIG, "/var/lib/sqlqd", "sqlqd.service", "alice"):
        assert target in planned

    installed(fresh, "--allow", "alice")
    assert fresh.good("systemctl", "is-active", "sqlqd") == "active"
    assert fresh.good("systemctl", "is-enabled", "sqlqd") == "enabled"
    assert mode(fresh, CONFIG) == "640 root:sqlqd"
    assert mode(fresh, "/var/lib/sqlqd") == "2770 sqlqd:sqlqd"
    assert mode(fresh, DATABASE) == "660 sqlqd:sqlqd"
    assert mode(fresh, fresh.good("sh", "-c", "echo ~sqlqd")) == "700 sqlqd:sqlqd"
    assert fresh.good("readlink", "-f", "/usr/local/bin/sqlqd").startswith("/opt/sqlqd/")
    assert fresh.good("readlink", "-f", "/opt/sqlqd/bin/python").startswith("/usr/bin/")
    assert "enqueue" in fresh.shell("find /opt/sqlqd/current/ -path '*/sqlqd/cli/__pycache__/*.pyc'")
    assert fresh.shell("find /opt/sqlqd -perm /022 -not -type l") == ""
    carried = fresh.shell("cd /opt/sqlqd/share/sqlqd && find . -type f")
    assert {"./sqlqd.toml", "./systemd/sqlqd.service", "./systemd/drop-ins/hardened.conf"} <= set(
        carried.split()
    )
    assert "sqlqd cannot run" in fresh.good("journalctl", "--list-catalog")
    shells = (
        "bash-completion/completions/sqlqd",
        "zsh/site-functions/_sqlqd",
        "fish/vendor_completions.d/sqlqd.fish",
    )
    for name in shells:
        assert "_SQLQD_COMPLETE" in fresh.good("cat", f"/usr/local/share/{name}", user="mallory")
    assert "enqueue" in fresh.good("cat", "/usr/local/share/man/man1/sqlqd.1", user="mallory")

    configure(fresh)
    assert output(fresh, fresh.good("sqlqd", "enqueue", "sleeper", "0", user="alice"))[:2] == [
        "sqlqd",
        "sqlqd",
    ]
    for verb in (("list",), ("enqueue", "sleeper", "0"), ("status",)):
        refused = fresh.run("sqlqd", *verb, user="mallory")
        assert refused.returncode == 77
        assert "sqlqd" in refused.stderr
        assert refused.stderr.count("\n") == 1


def test_again_it_upgrades_and_takes_nothing_from_the_jobs(fresh: Machine) -> None:
    installed(fresh)
    configure(fresh)
    first = fresh.good("readlink", "-f", "/opt/sqlqd/current")
    fresh.shell("mkdir -p /srv/own; cat >/srv/own/sqlqd.toml", stdin=APPLICATION)
    fresh.good("systemd-run", "--unit=own", "sqlqd", "run", "--config", "/srv/own/sqlqd.toml")
    running, waiting = (fresh.good("sqlqd", "enqueue", "sleeper", "1.5") for _ in range(2))
    until(lambda: fresh.journal(f"SQLQD_JOB_ID={running}"), "it runs")
    until(lambda: fresh.run("sqlqd", "-c", "/srv/own/sqlqd.toml", "status").returncode == 0, "the other runs")

    installed(fresh)
    assert fresh.good("readlink", "-f", "/opt/sqlqd/current") != first
    assert fresh.good("cat", CONFIG) == SLEEPER.rstrip("\n")
    assert fresh.good("systemctl", "is-active", "sqlqd") == "active"
    for job in (running, waiting):
        assert output(fresh, job)
    fresh.good("test", "-e", f"{first}/bin/sqlqd")

    fresh.good("systemctl", "stop", "own")
    installed(fresh)
    assert fresh.run("test", "-e", first).returncode != 0
    assert len(fresh.shell("ls -d /opt/sqlqd/release-*").splitlines()) == 1


def test_an_upgrade_that_cannot_work_changes_nothing(fresh: Machine) -> None:
    installed(fresh)
    before = fresh.show("sqlqd", "MainPID"), fresh.shell("ls /opt/sqlqd")
    fresh.write(CONFIG, "[daemon", mode="0640")
    refused = install(fresh)
    assert refused.returncode == 1
    assert f"{CONFIG}:1" in refused.stderr
    refused = fresh.run(os.fspath(INSTALLER), env={**OFFLINE, "PIP_FIND_LINKS": "/nowhere"}, patience=60)
    assert refused.returncode == 1
    assert "nothing was changed" in refused.stderr
    assert (fresh.show("sqlqd", "MainPID"), fresh.shell("ls /opt/sqlqd")) == before


def test_removed_it_leaves_the_configuration_and_the_database(fresh: Machine) -> None:
    before = {line.split()[0] for line in files(fresh)}
    installed(fresh, "--hardened")
    configure(fresh)
    fresh.shell("cp /etc/sqlqd/sqlqd.toml /etc/sqlqd/other.toml; systemctl enable sqlqd@other")
    job = fresh.good("sqlqd", "enqueue", "--delay", "1h", "sleeper", "0")

    installed(fresh, "--remove")
    assert fresh.run("systemctl", "cat", "sqlqd").returncode != 0
    assert fresh.shell("systemctl list-units --all --no-legend 'sqlqd*'") == ""
    left = {line.split()[0] for line in files(fresh)} - before
    kept = re.compile(
        r"/(etc|var/lib|var/cache)/sqlqd(/|$)|/etc/(passwd|shadow|group|gshadow|subuid|subgid)-?$"
    )
    assert CONFIG in left
    assert [path for path in left if not kept.match(path)] == []

    installed(fresh)
    assert job[:12] in fresh.good("sqlqd", "list")


def test_it_runs_as_whom_it_is_told_until_told_otherwise(fresh: Machine) -> None:
    fresh.shell("groupadd --force application; useradd --gid application --create-home applicant || true")
    installed(fresh, "--run-as", "applicant")
    configure(fresh)
    said = output(fresh, fresh.good("sqlqd", "enqueue", "sleeper", "0", user="root"))
    assert said[0] == "applicant"
    assert set(said[1].split()) == {"sqlqd", "application"}
    assert said[2] == "0022"
    assert mode(fresh, DATABASE) == "660 applicant:sqlqd"

    installed(fresh, "--root", "--allow", "alice")
    assert output(fresh, fresh.good("sqlqd", "enqueue", "sleeper", "0", user="alice"))[0] == "root"
    assert mode(fresh, DATABASE) == "660 root:sqlqd"

    installed(fresh, "--without", "as-root", "--paranoid")
    assert output(fresh, fresh.good("sqlqd", "enqueue", "sleeper", "0", user="alice"))[0] == "sqlqd"
    assert fresh.show("sqlqd", "PrivateNetwork", "ProtectSystem") == {
        "PrivateNetwork": "yes",
        "ProtectSystem": "strict",
    }


def test_a_service_of_ones_own_needs_no_root(fresh: Machine) -> None:
    uid = fresh.good("id", "-u", "alice")
    fresh.good("systemctl", "start", f"user@{uid}")
    env = {"HOME": "/home/alice", "XDG_RUNTIME_DIR": f"/run/user/{uid}"}
    sqlqd = ("/home/alice/.local/bin/sqlqd", "--user")

    def own(*words: str) -> str:
        return fresh.good(*words, user="alice", env={**env, **OFFLINE}, patience=120)

    own(os.fspath(INSTALLER), "--user")
    assert own("systemctl", "--user", "is-active", "sqlqd") == "active"
    assert "/home/alice/.local/state/sqlqd/queue.db" in own(*sqlqd, "status")
    assert "enqueue" in own("cat", "/home/alice/.local/share/man/man1/sqlqd.1")
    assert "_SQLQD_COMPLETE" in own("cat", "/home/alice/.local/share/bash-completion/completions/sqlqd")
    job = own(*sqlqd, "enqueue", "hello", "alice")
    until(lambda: '"state": "done"' in own(*sqlqd, "show", "--json", job), "it runs")
    own(os.fspath(INSTALLER), "--user", "--remove")
    assert fresh.run("systemctl", "--user", "cat", "sqlqd", user="alice", env=env).returncode != 0
    own("test", "-e", "/home/alice/.local/state/sqlqd/queue.db")
    assert own("find", "/home/alice/.local/share", "-name", "*sqlqd*") == ""
    fresh.good("systemctl", "stop", f"user@{uid}")


@pytest.mark.parametrize(
    ("options", "status", "next_step"),
    [
        (("--root", "--run-as", "alice"), 2, "--help"),
        (("--with", "hardend"), 2, "hardened"),
        (("--frobnicate",), 2, "--help"),
        (("--allow",), 2, "--allow"),
        (("--allow", "nobody-we-know"), 1, "no user"),
    ],
)
def test_what_makes_no_sense_is_refused(
    machine: Machine, options: tuple[str, ...], status: int, next_step: str
) -> None:
    refused = install(machine, *options)
    assert refused.returncode == status
    assert next_step in refused.stderr


def test_without_root_the_way_is_shown(machine: Machine) -> None:
    refused = machine.run(os.fspath(INSTALLER), user="alice")
    assert refused.returncode == 1
    assert "--user" in refused.stderr
