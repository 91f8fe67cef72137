"""The booted machine itself: that tests may break it, and leave this system as it was."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.booted import PATIENCE, SOURCES, Machine, remove_cgroup, surroundings
from tests.support.daemon import until

LASTING = ("/etc", "/var", "/opt", "/usr/local", "/usr/lib", "/home", "/root")
"""Where installations and users write."""


def test_systemd_is_up_and_is_the_first_process(machine: Machine) -> None:
    assert machine.state() == "running"
    assert machine.good("cat", "/proc/1/comm") == "systemd"


@pytest.mark.parametrize("where", [*LASTING, "/tmp", "/run", "/dev"])
def test_what_is_written_in_it_is_not_written_here(machine: Machine, where: str) -> None:
    name = f"{where}/sqlqd-written-by-a-test"
    machine.write(name, "from within")
    assert machine.good("cat", name) == "from within"
    assert not Path(name).exists()


@pytest.mark.parametrize(
    "where", ["/proc/sys/kernel/panic", "/sys/kernel/profiling", str(SOURCES / "README.md")]
)
def test_what_is_the_kernels_or_the_projects_cannot_be_written(machine: Machine, where: str) -> None:
    refused = machine.run("sh", "-c", ': >>"$1"', "sh", where)
    assert refused.returncode != 0
    assert "Read-only" in refused.stderr


def test_its_processes_and_its_network_are_its_own(machine: Machine) -> None:
    assert machine.run("kill", "-0", str(os.getpid())).returncode != 0
    assert machine.shell("ls /sys/class/net") == "lo"
    assert machine.good("cat", "/sys/class/net/lo/operstate") in ("unknown", "up")
    assert "LOOPBACK" not in machine.good("cat", "/proc/net/route")


def test_what_is_logged_in_it_can_be_read(machine: Machine) -> None:
    machine.good("logger", "--tag", "machine-test", "heard")
    records = machine.journal("SYSLOG_IDENTIFIER=machine-test")
    assert [record["MESSAGE"] for record in records] == ["heard"]


def test_nothing_is_left_of_a_machine_whose_tests_were_killed(machine: Machine, tmp_path: Path) -> None:
    script = (
        "import os, signal\n"
        "from tests.support.booted import booted\n"
        "with booted() as machine:\n"
        "    print(machine.good('readlink', '/proc/1/ns/pid'), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", script],
        cwd=SOURCES,
        env={"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert killed.stdout.startswith("pid:[")
    until(lambda: killed.stdout.strip() not in namespaces(), "its processes are gone")
    cgroups = surroundings().cgroups
    assert cgroups is not None
    for folder in tmp_path.glob("*/"):
        remove_cgroup(cgroups / folder.name)


def namespaces() -> set[str]:
    """The pid namespaces of all processes."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            found.add(str((process / "ns" / "pid").readlink()))
    return found
