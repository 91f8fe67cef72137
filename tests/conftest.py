"""For all tests: what they may take for granted on any machine, however they were started."""

import itertools
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.booted import Machine, booted, hindrance, unless
from tests.support.service import Service, bring_wheels, install

NUMBERS = itertools.count(1)
"""So that no two services of a machine have the same name."""

# The system's own sqlite3 shell and kill where there are such, else the stand-ins; and some python3.
os.environ["PATH"] = os.pathsep.join(
    [os.environ["PATH"], str(Path(__file__).parent / "support" / "bin"), str(Path(sys.executable).parent)]
)

# What was started by nohup or in the background ignores these, and so would every program that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, ())


@pytest.fixture(scope="session")
def machine() -> Iterator[Machine]:
    """A machine under systemd for all tests of this process: they keep apart by their services' names."""
    unless(hindrance(), os.environ)
    with booted() as machine:
        yield machine


@pytest.fixture(scope="session")
def installed(machine: Machine) -> Machine:
    """The machine with sqlqd installed; alice belongs to its group, mallory does not."""
    unless(bring_wheels(machine), os.environ)
    for user in ("alice", "mallory"):
        machine.good("useradd", "--create-home", "--user-group", user)
    done = install(machine, "--allow", "alice")
    assert done.returncode == 0, done.stderr
    return machine


@pytest.fixture
def service(installed: Machine, request: pytest.FixtureRequest) -> Iterator[Service]:
    """An instance of the test's own, not yet started; gone when the test is over."""
    about = re.sub(r"\W|_", "-", request.node.name.removeprefix("test_"))
    service = Service(installed, f"{about[:40]}-{next(NUMBERS)}")
    try:
        yield service
    finally:
        service.end()
