"""What `enqueue` loads: people and programs wait for it thousands of times."""

import subprocess
import sys
from importlib.util import find_spec

from tests.support.shell import Desk

HEAVY = {
    *("structlog", "logging", "subprocess", "asyncio", "multiprocessing", "concurrent", "sdnotify", "rich"),
    *(
        "importlib.metadata",
        "importlib.resources",
        "email",
        "json",
        "difflib",
        "argparse",
        "sqlite3",
        "socket",
    ),
    *("shutil", "tempfile", "ctypes", "select", "shlex", "traceback"),
}
OURS_NOT_NEEDED = {
    *("worker", "steward", "parent", "proc", "tree", "command", "log", "events", "relics", "patience"),
    *("systemd", "presence", "policy", "config.tomlpos", "cli.run", "cli.status", "cli.inspect"),
    *("cli.change", "cli.check", "cli.setup", "cli.selection", "cli.records", "moments", "cli.wait"),
    *(
        "timetable",
        "store.schedules",
        "config.schedules",
        "why",
        "model",
        "store.base",
        "store.sqlite",
        "api",
    ),
}


def test_enqueue_loads_nothing_heavy(desk: Desk) -> None:
    program = (
        "import sys; from sqlqd.cli import execute; status = execute(sys.argv[1:]);"
        "print(status, *sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "enqueue", "mail", "hello", "--delay", "5s", "--key", "k"],
        capture_output=True,
        text=True,
        env=desk.environment(),
        check=True,
    )
    status, *loaded = done.stderr.split()
    assert status == "0"
    assert {name for name in loaded if name in HEAVY or name.split(".")[0] in HEAVY} == set()
    assert {name for name in OURS_NOT_NEEDED if f"sqlqd.{name}" in loaded} == set()


def test_what_is_not_needed_is_called_by_its_name() -> None:
    assert {name for name in OURS_NOT_NEEDED if find_spec(f"sqlqd.{name}") is None} == set()
