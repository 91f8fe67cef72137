"""`sqlqd check` tells of every setting: a person who changes one sees what it comes to."""

import os
import pwd

import pytest

from sqlqd.config.settings import Daemon, Queue
from tests.support.shell import Desk

DAEMON = {
    "database": '"other.db"',
    "workers": "7",
    "drain_timeout": '"77s"',
    "busy_timeout": '"7s"',
    "log_level": '"debug"',
    "log_format": '"json"',
}
QUEUE = {
    "command": '"echo 7"',
    "concurrency": "1",
    "lease": '"77s"',
    "timeout": '"77s"',
    "kill_grace": '"7s"',
    "success_codes": "[0, 7]",
    "dead_codes": "[7]",
    "max_attempts": "7",
    "max_crashes": "7",
    "backoff": "{ jitter = 0.5 }",
    "payload": '"json"',
    "max_payload": '"7KiB"',
    "keep_done": '"7d"',
    "keep_dead": '"7d"',
    "expires": '"7d"',
    "max_waiting": "7",
    "exclusive": "true",
    "rate": '"7/min"',
    "breaker": '{ failures = 7, pause = "7min" }',
    "on_dead": '"other"',
    "cwd": '"/usr"',
    "env": '{ SEVEN = "7" }',
    "env_file": '"secrets"',
    "user": f'"{pwd.getpwuid(os.geteuid()).pw_name}"',
    "payload_env": "false",
    "memory_max": '"77MiB"',
    "cpu_quota": '"77%"',
    "tasks_max": "77",
    "log_output": "false",
    "drain_timeout": '"77s"',
}


def written(desk: Desk, table: str = "", line: str = "") -> tuple[str, str]:
    """What `check` says, to people and to programs."""
    lines = {"daemon": ['database = "queue.db"'], "queue": ['command = "true"']}
    if line:
        kept = [one for one in lines[table] if one.split()[0] != line.split(maxsplit=1)[0]]
        lines[table] = [*kept, line]
    tables = [
        "[daemon]",
        *lines["daemon"],
        "[queues.one]",
        *lines["queue"],
        "[queues.other]",
        "command = 'id'",
    ]
    desk.config.write_text("\n".join(tables))
    return desk.good("check").out, desk.good("check", "--json").out


def test_no_setting_is_left_out_here() -> None:
    assert (set(Daemon.keys), set(Queue.keys)) == (set(DAEMON), set(QUEUE))


@pytest.mark.parametrize(("table", "values"), [("daemon", DAEMON), ("queue", QUEUE)], ids=["daemon", "queue"])
def test_check_tells_of_each(desk: Desk, table: str, values: dict[str, str]) -> None:
    (desk.directory / "secrets").write_text("A=b\n")
    (desk.directory / "secrets").chmod(0o600)
    text, document = written(desk)
    changed = {name: written(desk, table, f"{name} = {value}") for name, value in values.items()}
    assert [name for name, told in changed.items() if told[0] == text] == []
    assert [name for name, told in changed.items() if told[1] == document] == []
