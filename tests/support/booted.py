"""This system's systemd, booted as PID 1 of fresh namespaces: a machine to install sqlqd on, and to break.

What is written in it is thrown away with it: its files are a copy on write of this system's, its processes,
network, mounts and cgroups are its own, and the kernel's settings are read-only. It dies with whoever booted
it.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemon import until

SOURCES = Path(__file__).parents[2]
PATIENCE = 30.0
_BOOT = Path(__file__).with_name("boot")
_OWN = ("--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup")
"""The namespaces that the machine gets."""
_PROGRAMS = ("setpriv", "unshare", "nsenter", "pivot_root", "mknod", "mount", "umount", "tar")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a machine can only be booted with."""

    uid: int
    systemd: bool
    programs: frozenset[str]
    """Those to be found."""
    cgroups: Path | None
    """Where the tree of cgroup2 is mounted."""


def surroundings() -> Surroundings:
    """Those of this process."""
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    trees = [Path(fields[1]) for fields in mounts if fields[2] == "cgroup2"]
    return Surroundings(
        os.geteuid(),
        Path("/usr/lib/systemd/systemd").exists(),
        frozenset(name for name in _PROGRAMS if shutil.which(name, path=_PATH)),
        trees[0] if trees else None,
    )


def lack(here: Surroundings) -> str | None:
    """Why no machine can be booted, as far as it can be seen beforehand; None where nothing is missing."""
    if here.uid != 0:
        return "booting systemd needs root"
    if not here.systemd:
        return "there is no /usr/lib/systemd/systemd to boot"
    if missing := [name for name in _PROGRAMS if name not in here.programs]:
        return f"booting systemd needs the program {missing[0]}"
    if here.cgroups is None:
        return "systemd needs cgroup2, which is not mounted"
    return None


def hindrance() -> str | None:
    """Why no machine can be booted here, having tried all but systemd itself; None where one can be."""
    here = surroundings()
    if (missing := lack(here)) is not None:
        return missing
    try:
        with _ground(here) as (folder, cgroup):
            tried = subprocess.run(
                _command(folder, cgroup, "--try"),
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
    except OSError as error:
        return f"no cgroup can be made for it: {error}"
    if tried.returncode == 0:
        return None
    return f"its namespaces cannot be made: {' '.join(tried.stderr.split()) or tried.returncode}"


def unless(hindrance: str | None, environ: Mapping[str, str]) -> None:
    """Skip the test for this reason; where SQLQD_REQUIRE_SYSTEMD=1 says that it has to run, fail it."""
    if hindrance is None:
        return
    if environ.get("SQLQD_REQUIRE_SYSTEMD") == "1":
        pytest.fail(f"SQLQD_REQUIRE_SYSTEMD=1, but {hindrance}")
    pytest.skip(hindrance)


@contextmanager
def booted() -> Iterator["Machine"]:
    """A machine whose systemd has started all that it starts."""
    with _ground(surroundings()) as (folder, cgroup):
        said = folder.with_suffix(".boot")
        with said.open("w+", encoding="utf-8") as words:
            outer = subprocess.Popen(
                _command(folder, cgroup),
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                start_new_session=True,
            )
        try:
            yield _await_boot(outer, said, cgroup)
        finally:
            outer.kill()
            outer.wait(PATIENCE)
            said.unlink()


def _command(folder: Path, cgroup: Path, *words: str) -> list[str]:
    # It has to be in its cgroup before it has a namespace of those; and all of it dies with this process.
    enter = 'echo $$ >"$1" && shift && exec "$@"'
    inner = [os.fspath(_BOOT), os.fspath(folder), os.fspath(SOURCES), *words]
    outer = ["setpriv", "--pdeathsig", "KILL", "unshare", "--fork", "--kill-child", *_OWN, "--", *inner]
    return ["/bin/sh", "-c", enter, "sh", os.fspath(cgroup / "cgroup.procs"), *outer]


@contextmanager
def _ground(here: Surroundings) -> Iterator[tuple[Path, Path]]:
    """An empty folder and an empty cgroup, which are gone afterwards with all that is in the cgroup."""
    assert here.cgroups is not None
    folder = Path(tempfile.mkdtemp(prefix="sqlqd-machine-"))
    cgroup = here.cgroups / folder.name
    cgroup.mkdir()
    try:
        yield folder, cgroup
    finally:
        until(
            lambda: "populated 0" in (cgroup / "cgroup.events").read_text(), "the machine is gone", PATIENCE
        )
        for below, _, _ in os.walk(cgroup, topdown=False):
            Path(below).rmdir()
        folder.rmdir()


def remove_cgroup(cgroup: Path) -> None:
    """Take away a cgroup and those in it, once its processes are gone."""
    until(lambda: "populated 0" in (cgroup / "cgroup.events").read_text(), "the machine is gone", PATIENCE)
    for below, _, _ in os.walk(cgroup, topdown=False):
        Path(below).rmdir()


def _await_boot(outer: subprocess.Popen[bytes], said: Path, cgroup: Path) -> "Machine":
    def init() -> int | None:
        assert outer.poll() is None, f"the machine ended as it started:\n{said.read_text()}"
        below = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
        return int(below[0]) if below else None

    machine = Machine(until(init, "the machine has a first process", PATIENCE), cgroup)
    until(lambda: init() and machine.state() in ("running", "degraded"), "systemd is up", PATIENCE)
    return machine


class Machine:
    """A booted machine, in which commands can be run."""

    def __init__(self, init: int, cgroup: Path) -> None:
        """`init`: its first process, as this process counts them; `cgroup`: where this process sees it."""
        self.cgroup = cgroup
        self._entered = ("nsenter", "--target", str(init), "--all", "--")

    def run(
        self,
        *command: str,
        user: str = "root",
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        patience: float = PATIENCE,
    ) -> subprocess.CompletedProcess[str]:
        """One command in it, to its end, in the environment of a fresh login of that user."""
        # Every user of the tests has a group of the same name.
        login = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--reset-env"]
        given = {"PATH": _PATH, "LANG": "C.UTF-8", **(env or {})}
        words = [*login, "env", *(f"{name}={value}" for name, value in given.items()), *command]
        return subprocess.run(
            [*self._entered, *words],
            input=stdin,
            capture_output=True,
            text=True,
            errors="backslashreplace",
            env={"PATH": _PATH},
            timeout=patience,
            check=False,
        )

    def good(self, *command: str, **how: Any) -> str:
        """One command that is meant to succeed: what it printed, without the last newline."""
        done = self.run(*command, **how)
        assert done.returncode == 0, f"{command} exits {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout.rstrip("\n")

    def shell(self, script: str, *arguments: str, **how: Any) -> str:
        """A shell script that is meant to succeed, with its arguments: what it printed."""
        return self.good("/bin/sh", "-euc", script, "sh", *arguments, **how)

    def write(self, path: str, text: str, mode: str = "0644") -> None:
        """Make a file, and the folders on the way to it."""
        made = 'mkdir -p "$(dirname "$1")" && cat >"$1" && chmod "$2" "$1"'
        self.shell(made, path, mode, stdin=text)

    def copy(self, folder: Path, to: str) -> None:
        """Copy a folder of this system's into it, readable for everybody."""
        packed = subprocess.run(
            ["tar", "-C", os.fspath(folder), "-c", "."], capture_output=True, timeout=PATIENCE, check=True
        )
        unpack = ["sh", "-euc", 'mkdir -p "$1"; tar -C "$1" -x --no-same-owner; chmod -R a+rX "$1"', "sh", to]
        subprocess.run([*self._entered, *unpack], input=packed.stdout, timeout=PATIENCE, check=True)

    def state(self) -> str:
        """The system's own: running, degraded, or an earlier one."""
        return self.run("systemctl", "is-system-running").stdout.strip()

    def show(self, unit: str, *properties: str) -> dict[str, str]:
        """What systemd knows of a unit."""
        shown = self.good("systemctl", "show", unit, f"--property={','.join(properties)}").splitlines()
        return dict(line.split("=", 1) for line in shown)

    def journal(self, *matches: str) -> list[dict[str, Any]]:
        """The journal's records with these fields, the oldest first, up to this moment."""
        self.run("journalctl", "--sync")
        read = self.good("journalctl", "--all", "--output=json", "--quiet", "--no-pager", *matches)
        return [json.loads(line) for line in read.splitlines()]
