"""`sqlqd init`, `check` and `schema`."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.shell import SQLQD, Desk


def test_init_writes_a_project_that_is_in_order_and_works(desk: Desk) -> None:
    desk.config.unlink()
    result = desk.good("init")
    assert str(desk.config) in result.out
    assert desk.good("check").out.count("warning") == 0
    assert desk.good("enqueue", "hello", "world").out.strip() == desk.jobs()[0]["id"]


def test_init_does_not_overwrite(desk: Desk) -> None:
    before = desk.config.read_text()
    result = desk.run("init")
    assert (result.code, result.out) == (1, "")
    assert str(desk.config) in result.err
    assert desk.config.read_text() == before


def test_init_writes_where_it_is_told(desk: Desk) -> None:
    desk.good("init", "-c", "other.toml")
    assert (desk.directory / "other.toml").exists()


def test_init_where_nobody_may_write(desk: Desk) -> None:
    result = desk.run("init", "-c", "/proc/sqlqd.toml")
    assert result.code in {74, 77, 1}
    assert result.err.count("\n") == 1


def test_check_says_what_is_in_force(desk: Desk) -> None:
    desk.config.write_text("""
[daemon]
database = "queue.db"
workers = 3
[defaults]
timeout = "1min"
concurrency = 1
[queues.one]
command = ["cat", "-n"]
max_payload = "10KiB"
env = { TOKEN = "hush" }
[queues.two]
command = "true"
backoff = { initial = "10s", factor = 1 }
max_attempts = 4
drain_timeout = "infinity"
""")
    text = desk.good("check").out
    for said in (
        str(desk.config),
        str(desk.database),
        f"uid {os.geteuid()}",
        "queue one",
        "cat -n",
        "gives up after about 11h 25min",
        "gives up after about 30s",
        "10KiB",
        "TOKEN",
        "infinity",
    ):
        assert said in text
    assert "hush" not in text
    assert "warning" not in text
    document = desk.good("check", "--json").json
    assert document["database"] == str(desk.database)
    assert document["warnings"] == []
    one, two = document["queues"]
    assert (one["name"], one["command"], one["env"]) == ("one", ["cat", "-n"], ["TOKEN"])
    assert (two["gives_up_after_seconds"], two["drain_timeout_seconds"]) == (30.0, None)


def test_check_warns_of_what_will_hurt(desk: Desk) -> None:
    (desk.directory / "plain").write_text("no program")
    desk.config.write_text("""
[daemon]
database = "missing/queue.db"
workers = 3
[queues.hangs]
command = "true"
[queues.gone]
command = ["no-such-program-at-all"]
timeout = 10
concurrency = 1
[queues.plain]
command = "./plain x"
cwd = "."
timeout = 10
concurrency = 1
[queues.nowhere]
command = "true"
cwd = "nowhere"
timeout = 10
concurrency = 1
[queues.fine]
command = "true; /no/such/file"
timeout = 10
concurrency = 1
""")
    warnings = desk.good("check", "--json").json["warnings"]
    by_queue = {
        name: [text for text in warnings if text.startswith(f"queue {name}:")]
        for name in ("hangs", "gone", "plain", "nowhere", "fine")
    }
    assert {name: len(texts) for name, texts in by_queue.items()} == {
        "hangs": 2,
        "gone": 1,
        "plain": 1,
        "nowhere": 1,
        "fine": 0,
    }
    assert "no timeout" in by_queue["hangs"][0]
    assert "every worker" in by_queue["hangs"][1]
    assert "no-such-program-at-all" in by_queue["gone"][0]
    assert str(desk.directory / "missing") in warnings[0]
    assert desk.good("check").out.count("warning: ") == len(warnings)


def test_check_warns_once_of_all_queues_that_can_take_every_worker(desk: Desk) -> None:
    said = [text for text in desk.good("check", "--json").json["warnings"] if "every worker" in text]
    assert said == [
        "queues mail, json, small: each can take every worker; a concurrency below 2 keeps some free"
    ]


def test_check_knows_a_program_that_no_shell_would_find(desk: Desk) -> None:
    desk.config.write_text("""
[daemon]
database = "queue.db"
[defaults]
timeout = 10
concurrency = 1
[queues.gone]
command = "no-such-program-at-all --x | cat"
[queues.own]
command = "exec cat"
[queues.variable]
command = "A=1 cat"
[queues.group]
command = "{ cat; }"
""")
    said = [text for text in desk.good("check", "--json").json["warnings"] if "PATH" in text]
    assert said == ["queue gone: PATH has no no-such-program-at-all"]


def test_check_says_of_a_program_that_is_a_path_what_is_the_matter(desk: Desk) -> None:
    here = desk.directory
    (here / "plain").touch(mode=0o644)
    desk.config.write_text("""
[daemon]
database = "queue.db"
workers = 1
[defaults]
timeout = 10
[queues.array]
command = ["/no/such/program"]
[queues.shell]
command = "/no/such/program"
[queues.beside]
command = ["./plain-to-see"]
[queues.folder]
command = ["/tmp"]
[queues.plain]
command = ["./plain"]
cwd = "."
""")
    said = desk.good("check", "--json").json["warnings"]
    assert said == [
        "queue array: cannot start /no/such/program: no such file",
        "queue shell: cannot start /no/such/program: no such file",
        "queue beside: cannot start /plain-to-see: no such file (`cwd` is /)",
        "queue folder: cannot start /tmp: it is a directory",
        f"queue plain: cannot start {here}/plain: it may not be executed (`cwd` is {here})",
        "one worker for all: a long job of one queue keeps the others waiting; more `workers` end that",
    ]


def test_check_tells_of_times_and_attempts_in_words_of_people(desk: Desk) -> None:
    desk.config.write_text("""
[daemon]
database = "queue.db"
[queues.once]
command = "true"
max_attempts = 1
[schedules.local]
queue = "once"
cron = "30 2 * * *"
[schedules.there]
queue = "once"
cron = "30 2 * * *"
timezone = "Europe/Berlin"
[schedules.often]
queue = "once"
every = "1h 30min"
[schedules.odd]
queue = "once"
every = "1h 30min 5s"
""")
    said = desk.good("check").out
    assert "attempts   1: the first failure is the last\n  payload" in said
    assert "schedule local: 30 2 * * * local time, into queue once; next " in said
    assert "schedule there: 30 2 * * * Europe/Berlin, into queue once; next " in said
    assert "schedule often: every 1h 30min, into queue once; next " in said
    assert "schedule odd: every 5405s, into queue once; next " in said


def test_schema_is_enough_for_an_applications_own_migrations(tmp_path: Path) -> None:
    ddl = subprocess.run([SQLQD, "schema"], capture_output=True, check=True, text=True).stdout
    # The system's own SQLite, in a process of its own.
    program = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.executescript(sys.stdin.read());"
        "c.execute(\"INSERT INTO jobs (queue, payload) VALUES ('mail', 'by SQL')\"); c.commit(); c.close()"
    )
    desk = Desk(tmp_path)
    subprocess.run([sys.executable, "-c", program, desk.database], input=ddl, check=True, text=True)
    assert desk.payloads("mail") == ["by SQL"]


def test_check_warns_of_secrets_that_are_none_or_cannot_be_read(desk: Desk) -> None:
    desk.config.write_text("""
[daemon]
database = "queue.db"
[defaults]
timeout = 10
concurrency = 1
command = "true"
[queues.open]
env_file = "open.env"
[queues.good]
env_file = "good.env"
command = ["own-program"]
[queues.gone]
env_file = "gone.env"
[queues.wrong]
env_file = "wrong.env"
""")
    own = desk.directory / "bin" / "own-program"
    own.parent.mkdir()
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    for name, text, mode in (
        ("open", "TOKEN=hush", 0o644),
        ("good", f"TOKEN=hush\nPATH={own.parent}", 0o640),
        ("wrong", "\nhush", 0o600),
    ):
        (desk.directory / f"{name}.env").write_text(text)
        (desk.directory / f"{name}.env").chmod(mode)
    said = desk.good("check", "--json").json
    assert [text.replace(f"{desk.directory}/", "") for text in said["warnings"]] == [
        "queue open: env_file open.env: every user may read it; chmod o= keeps it from them",
        "queue gone: env_file gone.env: there is no such file",
        "queue wrong: env_file wrong.env:2: must be NAME=VALUE, or a comment that begins with #",
    ]
    assert said["queues"][1]["env_file"] == str(desk.directory / "good.env")
    told = desk.good("check").out
    assert f"from {desk.directory}/open.env" in told
    assert "hush" not in told
