"""sqlqd as a service of a booted machine: installed as a person installs it, driven by systemctl."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.booted import SOURCES, Machine
from tests.support.daemon import until

WHEELS = "/srv/wheels"
"""Where the machine, which has no network, finds what pip would download."""

INSTALLER = SOURCES / "scripts" / "install"
OFFLINE = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": WHEELS}

CONFIG = """\
[daemon]
database = "/var/lib/sqlqd-{name}/queue.db"
workers = {workers}
{daemon}
{queues}
"""

LOCKER = """
import os, sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10)
connection.execute("BEGIN EXCLUSIVE")
os.system("systemd-notify --ready")
time.sleep(60)
"""
"""Tells systemd once it has the lock."""


def bring_wheels(machine: Machine) -> str | None:
    """Put the wheels that sqlqd needs, and those that build it, into the machine; why not, where not."""
    with tempfile.TemporaryDirectory() as folder:
        build = ["/usr/bin/python3", "-m", "pip", "wheel", "--quiet", "--wheel-dir", folder]
        built = subprocess.run(
            [*build, os.fspath(SOURCES), "hatchling"],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if built.returncode != 0:
            return f"/usr/bin/python3 -m pip cannot fetch what sqlqd needs: {built.stderr.strip()[-500:]}"
        machine.copy(Path(folder), WHEELS)
    return None


def install(machine: Machine, *options: str) -> subprocess.CompletedProcess[str]:
    """Run `scripts/install` in the machine."""
    return machine.run(os.fspath(SOURCES / "scripts" / "install"), *options, env=OFFLINE, patience=120)


def _fields(entry: dict[str, Any]) -> dict[str, str]:
    """A record's fields by their names outside the journal; empty for an entry that is no record."""
    native = {name[6:].lower(): str(value) for name, value in entry.items() if name.startswith("SQLQD_")}
    if native:
        return native
    try:
        record = json.loads(str(entry["MESSAGE"]))
    except json.JSONDecodeError:
        return {}
    return {name: str(value) for name, value in record.items()} if isinstance(record, dict) else {}


class Service:
    """One instance of sqlqd, with a configuration and a database of its own."""

    def __init__(self, machine: Machine, name: str) -> None:
        """`name`: the instance's."""
        self.machine = machine
        self.name = name
        self.unit = f"sqlqd@{name}.service"
        self.config = f"/etc/sqlqd/{name}.toml"
        self.home = f"/var/lib/sqlqd-{name}"
        self.database = f"{self.home}/queue.db"

    def configure(self, queues: str = "", *, workers: int = 2, daemon: str = "") -> None:
        """Write its configuration, whole. `daemon`: more lines of the table [daemon]."""
        text = CONFIG.format(name=self.name, workers=workers, daemon=daemon, queues=queues)
        self.machine.write(self.config, text)

    def unit_lines(self, *lines: str) -> None:
        """Set directives of [Service] for this instance alone; in force from its next start."""
        path = f"/run/systemd/system/{self.unit}.d/tests.conf"
        self.machine.write(path, "\n".join(["[Service]", *lines, ""]))
        self.machine.good("systemctl", "daemon-reload")

    def drop_in(self, *names: str) -> None:
        """Put shipped variants of the unit in force for this instance alone."""
        for name in names:
            text = (SOURCES / "systemd" / "drop-ins" / f"{name}.conf").read_text(encoding="utf-8")
            self.machine.write(f"/run/systemd/system/{self.unit}.d/50-{name}.conf", text)
        self.machine.good("systemctl", "daemon-reload")

    def start(self, queues: str = "", *, workers: int = 2, daemon: str = "") -> None:
        """Configure and start it: back when it is ready."""
        self.configure(queues, workers=workers, daemon=daemon)
        self.systemctl("start")

    def systemctl(self, verb: str, *options: str, patience: float = 60.0) -> str:
        """Have systemd do that with it, which is meant to succeed."""
        done = self.machine.run("systemctl", verb, *options, self.unit, patience=patience)
        assert done.returncode == 0, f"{done.stderr}{self.told()}"
        return done.stdout

    def end(self) -> None:
        """Stop it for good, however it stands, and forget that it failed."""
        self.machine.run("systemctl", "kill", "--signal=KILL", self.unit)
        self.machine.run("systemctl", "stop", self.unit)
        self.machine.run("systemctl", "reset-failed", self.unit)

    def show(self, name: str) -> str:
        """One property of its unit."""
        return self.machine.show(self.unit, name)[name]

    def status(self) -> str:
        """What `systemctl status` shows a person."""
        return self.machine.run("systemctl", "status", "--full", "--lines=20", "--no-pager", self.unit).stdout

    @property
    def pid(self) -> int:
        """Of its parent, as the machine counts; 0 while it does not run."""
        return int(self.show("MainPID"))

    @property
    def restarts(self) -> int:
        """How often systemd has restarted it by itself."""
        return int(self.show("NRestarts"))

    def processes(self) -> dict[int, str]:
        """All processes of its cgroup, with their command lines."""
        script = """
            cd /sys/fs/cgroup"$1" 2>/dev/null || exit 0
            for pid in $(find . -name cgroup.procs -exec cat {} +); do
                printf '%s %s\\n' "$pid" "$(tr '\\0\\n' '  ' </proc/"$pid"/cmdline)"
            done
        """
        group = self.show("ControlGroup")
        lines = self.machine.shell(script, group).splitlines() if group else []
        return {int(pid): words for pid, _, words in (line.partition(" ") for line in lines)}

    def sqlqd(
        self, *words: str, user: str = "root", stdin: str = "", env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Another verb on its configuration."""
        return self.machine.run("sqlqd", "--config", self.config, *words, user=user, stdin=stdin, env=env)

    def enqueue(self, queue: str, payload: str = "", *words: str, user: str = "root") -> str:
        """Add a job: its id."""
        done = self.sqlqd("enqueue", *words, "--", queue, payload, user=user)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def jobs(self, *words: str) -> list[dict[str, Any]]:
        """What `list --json` shows."""
        done = self.sqlqd("list", "--json", *words)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def state(self, job: str) -> str:
        """A job's state now."""
        done = self.sqlqd("show", "--json", job)
        assert done.returncode == 0, done.stderr
        return str(json.loads(done.stdout)["state"])

    def until_state(self, job: str, state: str) -> None:
        """Wait until a job is in that state."""
        self.until(lambda: self.state(job) == state, f"{job} is {state}")

    def entries(self, *matches: str) -> list[dict[str, Any]]:
        """The journal's entries from its processes, with these fields, as the journal has them."""
        return self.machine.journal(f"_SYSTEMD_UNIT={self.unit}", *matches)

    def records(self, event: str = "", **fields: str) -> list[dict[str, str]]:
        """Its records of this event with these fields, as `log_format` has it in the journal; else all."""
        told = [_fields(entry) for entry in self.entries()]
        return [
            record
            for record in told
            if record and event in ("", record["event"]) and fields.items() <= record.items()
        ]

    def record(self, event: str, **fields: str) -> dict[str, str]:
        """Wait for a record of this event: the last."""
        found: list[dict[str, str]] = self.until(lambda: self.records(event, **fields), f"{event} {fields}")
        return found[-1]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Another program holds the database's lock for the length of the block."""
        unit = f"locker-{self.name}.service"
        run = ("systemd-run", "--quiet", f"--unit={unit}", "--property=Type=notify", "--property=User=sqlqd")
        self.machine.good(
            *run, "--property=NotifyAccess=all", "/usr/bin/python3", "-c", LOCKER, self.database
        )
        try:
            yield
        finally:
            self.machine.good("systemctl", "stop", unit)

    def told(self) -> str:
        """The last lines that the journal has of its unit, systemd's own among them, for people."""
        return self.machine.run("journalctl", "--no-pager", "-n", "60", "-u", self.unit).stdout

    def until(self, true: Any, what: str) -> Any:
        """Wait for a condition; where it does not come about, say what the journal tells."""
        try:
            return until(true, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.told()}") from None
