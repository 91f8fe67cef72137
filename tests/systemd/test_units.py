"""The units that are shipped: what systemd says of them, and what commands can do under them."""

import re
from pathlib import Path

import pytest

from tests.support.booted import SOURCES, Machine
from tests.support.service import Service

SHIPPED = SOURCES / "systemd"
ORDINARY = """
[queues.ordinary]
command = '''
set -eu
cat /home/alice/readable /tmp/of-others
for folder in /tmp /dev/shm /srv/ordinary /var/lib/ordinary "$HOME"; do echo x >"$folder/sqlqd-new"; done
cp -a /srv/setgid /srv/ordinary/
ps -e -o args= | grep -q '[s]ystemd-journald'
test -e /dev/tty
unshare --user --map-root-user true
python3 - <<END
import mmap, socket
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
    socket.socket(family, socket.SOCK_DGRAM).close()
mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
END
nice -n 5 setarch "$(uname -m)" -R true
echo all well
'''
timeout = "20s"
max_attempts = 1
"""
ECHO = '[queues.echo]\ncommand = "cat"\n'
WHO = '[queues.who]\ncommand = "/srv/whoever"\n'


def exposure(service: Service) -> float:
    """What `systemd-analyze security` counts for its unit: 0 is the safest."""
    table = service.machine.run("systemd-analyze", "security", "--no-pager", service.unit).stdout
    found = re.search(r"Overall exposure level for \S+: (\d+\.\d+)", table)
    assert found, table
    return float(found[1])


def output(service: Service, queue: str, payload: str = "", user: str = "root") -> list[str]:
    """What a job says that does not fail."""
    job = service.enqueue(queue, payload, user=user)
    service.until(lambda: service.state(job) in ("done", "dead"), f"{job} ends")
    said = [record["line"] for record in service.records("job.output", job_id=job)]
    assert service.state(job) == "done", said
    return said


def directives(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_an_instance_is_as_the_service_but_for_its_name() -> None:
    single, instance = (directives(SHIPPED / name) for name in ("sqlqd.service", "sqlqd@.service"))
    named = {one for one, other in zip(single, instance, strict=True) if one != other}
    assert {line.split("=")[0] for line in named} == {"Description", "ExecStart", "StateDirectory"}


@pytest.mark.parametrize(
    "path", [SHIPPED / "sqlqd.service", *sorted((SHIPPED / "drop-ins").iterdir())], ids=lambda path: path.stem
)
def test_what_is_set_has_its_reason_above_it(path: Path) -> None:
    before = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if "=" in line and not line.startswith("#") and before in ("", "[Service]"):
            assert line.startswith(("Description=", "WantedBy=")), f"{line} has none"
        before = line


def test_systemd_has_nothing_to_say_against_them(installed: Machine) -> None:
    own = SHIPPED / "user" / "sqlqd.service"
    installed.shell(
        'mkdir -p ~/.local/share/sqlqd/bin; ln -sf /bin/true "$HOME/.local/share/sqlqd/bin/sqlqd"'
    )
    for words in (("sqlqd.service", "sqlqd@any.service"), ("--user", str(own))):
        verified = installed.run(
            "systemd-analyze", "verify", *words, env={"HOME": "/root", "XDG_RUNTIME_DIR": "/run"}
        )
        assert (verified.returncode, verified.stderr) == (0, "")


def test_ordinary_commands_of_an_ordinary_server_work(service: Service) -> None:
    service.machine.shell(
        "chmod 755 /home/alice; echo from home >/home/alice/readable; echo from tmp >/tmp/of-others;"
        "mkdir -p /srv/ordinary /var/lib/ordinary /srv/setgid; chown sqlqd: /srv/ordinary /var/lib/ordinary;"
        "chgrp sqlqd /srv/setgid; chmod 2755 /srv/setgid"
    )
    assert exposure(service) <= 4.0
    service.start(ORDINARY)
    assert output(service, "ordinary") == ["from home", "from tmp", "all well"]
    for folder in ("/srv/ordinary", "/tmp"):
        assert service.machine.good("stat", "--format=%U %a", f"{folder}/sqlqd-new") == "sqlqd 660"


@pytest.mark.parametrize(("profile", "most"), [(("hardened",), 1.5), (("hardened", "paranoid"), 0.5)])
def test_a_hardened_service_is_as_safe_as_promised_and_works(
    service: Service, profile: tuple[str, ...], most: float
) -> None:
    service.drop_in(*profile)
    assert exposure(service) <= most
    service.start(ECHO)
    assert output(service, "echo", "heard", user="alice") == ["heard"]
    service.systemctl("reload")
    service.systemctl("stop")
    assert service.show("Result") == "success"


def test_setuid_programs_work_where_they_are_let(service: Service) -> None:
    service.machine.shell("cp -f /usr/bin/id /srv/whoever; chmod 4755 /srv/whoever")
    service.start(WHO)
    assert "euid=0" not in "".join(output(service, "who"))
    service.drop_in("setuid")
    service.systemctl("restart")
    assert "euid=0(root)" in "".join(output(service, "who"))


def test_two_instances_live_side_by_side(service: Service) -> None:
    other = Service(service.machine, f"{service.name}-other")
    try:
        for each in (service, other):
            each.start(ECHO)
        for each in (service, other):
            assert output(each, "echo", each.name) == [each.name]
        service.systemctl("stop")
        assert other.show("ActiveState") == "active"
    finally:
        other.end()


def test_an_update_of_a_library_does_not_restart_it(installed: Machine) -> None:
    # As needrestart reads its files and finds the services in them.
    script = """
        our %nrconf = (override_rc => {});
        do '/etc/needrestart/conf.d/sqlqd.conf'; die $@ if $@;
        my $rules = $nrconf{override_rc};
        for my $unit (@ARGV) {
            my ($rule) = grep { $unit =~ $_ } keys %$rules;
            print $unit, ' ', defined $rule ? $rules->{$rule} : 'restarted', "\\n";
        }
    """
    units = ("sqlqd.service", "sqlqd@mail.service", "sqlqdother.service")
    told = installed.good("perl", "-e", script, *units)
    assert told.splitlines() == ["sqlqd.service 0", "sqlqd@mail.service 0", "sqlqdother.service restarted"]
