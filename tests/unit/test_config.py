"""From TOML to plain values, or to every mistake at once."""

import math
import os
from pathlib import Path

import pytest

from sqlqd import board
from sqlqd.config import ConfigDenied, ConfigError, load, locate, settings
from sqlqd.model import Backoff

HEAD = '[daemon]\ndatabase = "queue.db"\n'
QUEUE = HEAD + '[queues.mail]\ncommand = "cat"\n'


def write(directory: Path, text: str | bytes) -> Path:
    path = directory / "sqlqd.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def problems(directory: Path, text: str | bytes) -> list[str]:
    """What is wrong, without the file's name."""
    path = write(directory, text)
    with pytest.raises(ConfigError) as wrong:
        load(path)
    assert all(each.startswith(f"{path}:") for each in wrong.value.problems)
    assert all(each.isprintable() for each in wrong.value.problems)
    return [each.removeprefix(f"{path}:") for each in wrong.value.problems]


def test_the_defaults_are_those_of_the_documentation(tmp_path: Path) -> None:
    config = load(write(tmp_path, QUEUE))
    daemon, queue = config.daemon, config.queues["mail"]
    assert config.path == tmp_path / "sqlqd.toml"
    assert daemon.database == tmp_path / "queue.db"
    assert daemon.workers == max(2, len(os.sched_getaffinity(0)))
    assert (daemon.drain_timeout, daemon.busy_timeout) == (30, 5)
    assert (daemon.log_level, daemon.log_format) == ("info", "auto")
    assert (queue.name, queue.command, queue.concurrency) == ("mail", "cat", None)
    assert (queue.lease, queue.timeout, queue.kill_grace, queue.drain_timeout) == (30, math.inf, 10, 30)
    assert (queue.max_attempts, queue.max_crashes) == (20, 3)
    assert queue.backoff == Backoff(initial=10, factor=2, max=3600, jitter=0.25)
    assert (queue.json, queue.max_payload, queue.keep_done) == (False, 65_536, 86_400)
    assert (queue.cwd, queue.env, queue.payload_env, queue.log_output) == (Path("/"), {}, True, True)


def test_every_setting_is_read(tmp_path: Path) -> None:
    text = """
[daemon]
database = "/var/lib/q.db"
workers = 7
drain_timeout = "infinity"
busy_timeout = "250ms"
log_level = "debug"
log_format = "json"
[queues."a b"]
command = ["prog", "", "é"]
concurrency = 2
lease = 2
timeout = "1h 30min"
kill_grace = 0
max_attempts = 1
max_crashes = 5
backoff = { initial = 0.5, factor = 1.5, max = "2w", jitter = 0 }
payload = "json"
max_payload = "10MB"
keep_done = "0s"
cwd = "work"
env = { LANG = "C.UTF-8", EMPTY = "" }
env_file = "mail.env"
user = "www-data"
payload_env = false
log_output = false
drain_timeout = "5m"
"""
    config = load(write(tmp_path, text))
    daemon, queue = config.daemon, config.queues["a b"]
    assert (daemon.database, daemon.workers) == (Path("/var/lib/q.db"), 7)
    assert (daemon.drain_timeout, daemon.busy_timeout) == (math.inf, 0.25)
    assert (daemon.log_level, daemon.log_format) == ("debug", "json")
    assert (queue.command, queue.concurrency) == (("prog", "", "é"), 2)
    assert (queue.lease, queue.timeout, queue.kill_grace, queue.drain_timeout) == (2, 5400, 0, 300)
    assert (queue.max_attempts, queue.max_crashes) == (1, 5)
    assert queue.backoff == Backoff(initial=0.5, factor=1.5, max=1_209_600, jitter=0)
    assert (queue.json, queue.max_payload, queue.keep_done) == (True, 10_000_000, 0)
    assert (queue.cwd, queue.env) == (tmp_path / "work", {"LANG": "C.UTF-8", "EMPTY": ""})
    assert (queue.env_file, queue.user) == (tmp_path / "mail.env", "www-data")
    assert (queue.payload_env, queue.log_output) == (False, False)
    assert queue.rules.json is True
    assert queue.rules.max_payload == 10_000_000
    assert queue.policy.backoff == queue.backoff


def test_a_queues_own_value_wins_over_the_defaults(tmp_path: Path) -> None:
    text = HEAD + (
        'drain_timeout = "1min"\n[defaults]\nmax_attempts = 5\ncommand = "true"\n'
        "[queues.one]\n[queues.two]\nmax_attempts = 9\ndrain_timeout = 3\n"
    )
    queues = load(write(tmp_path, text)).queues
    assert [(each.command, each.max_attempts, each.drain_timeout) for each in queues.values()] == [
        ("true", 5, 60),
        ("true", 9, 3),
    ]


def test_every_mistake_is_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = """# é
[daemon]
worker = 3
log_format = "xml"
[default]
[queues.mail]
command = ["a",
  3]
max_atempts = 3
backoff = { initail = 3, max = -1 }
env = { "A=B" = "x", SQLQD_JOB_ID = "3", SECRET = 5 }
[queues]
other = 3
"""
    assert problems(tmp_path, text) == [
        "2: daemon.database: is missing: say where the queue's file is to be",
        '3: daemon.worker: unknown key (did you mean "workers"?)',
        '4: daemon.log_format: must be one of "auto", "journal", "json", "console", not "xml"',
        '5: default: unknown table (did you mean "defaults"?)',
        '8: queue "mail": command[1]: must be text in quotes, not 3',
        '9: queue "mail": max_atempts: unknown key (did you mean "max_attempts"?)',
        '10: queue "mail": backoff.initail: unknown key (did you mean "initial"?)',
        '10: queue "mail": backoff.max: must be at least 0s, not -1',
        '11: queue "mail": env.A=B: "A=B" cannot be the name of a variable',
        '11: queue "mail": env.SECRET: must be text in quotes',
        '11: queue "mail": env.SQLQD_JOB_ID: names that begin with SQLQD_ are set by the daemon',
        '13: queue "other": must be a table, not 3',
    ]


@pytest.mark.parametrize("key", ["after_success = 'x'"])
def test_keys_that_do_not_work_yet_are_unknown(tmp_path: Path, key: str) -> None:
    (problem,) = problems(tmp_path, QUEUE + key)
    assert problem == f'5: queue "mail": {key.split(maxsplit=1)[0]}: unknown key'


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("command = ''", "cannot be empty"),
        ("command = []", "must be text for a shell, or an array"),
        ("command = ['', 'x']", "the first word"),
        ('command = "a\\u0000b"', "NUL"),
        ("command = 3", "must be text for a shell"),
        ("concurrency = 0", "whole number from 1"),
        ("concurrency = 1.0", "whole number"),
        ("lease = '1s'", "at least 2s"),
        ("kill_grace = 'infinity'", 'cannot be "infinity"'),
        ("payload = 'xml'", 'one of "text", "json"'),
        ("max_payload = '1 parsec'", "not a size"),
        ("max_payload = -1", "must be from 0B"),
        ("payload_env = 'no'", "must be true or false"),
        ("payload_env = 0", "must be true or false"),
        ("cwd = ''", "cannot be empty"),
        ("cwd = '~/x'", "whole path"),
        ("env_file = '~/x'", "whole path"),
        ("env_file = ['a']", "must be text"),
        ("user = 33", "must be text"),
        ("user = ' a'", "name of a user"),
        ("env = 'A=B'", "must be a table"),
        ('env = { A = "x\\u0000" }', "NUL"),
        ("backoff = 3", "must be a table"),
        ("backoff = { initial = '2h' }", "initial cannot be longer than max"),
        ("backoff = { factor = 0.5 }", "from 1 to"),
        ("backoff = { jitter = 2 }", "from 0 to 1"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_its_line(tmp_path: Path, line: str, said: str) -> None:
    text = HEAD + "[queues.mail]\n" + ("" if line.startswith("command") else 'command = "x"\n') + line + "\n"
    (problem,) = problems(tmp_path, text)
    number, where, rest = problem.split(": ", 2)
    assert (int(number), where) == (text.count("\n"), 'queue "mail"')
    assert rest.startswith(line.split(maxsplit=1)[0])
    assert said in rest


@pytest.mark.parametrize("value", ["''", "':memory:'", "'file:x?mode=memory'", "'dir/'", "3", "'~/q.db'"])
def test_a_database_is_a_file(tmp_path: Path, value: str) -> None:
    (problem,) = problems(tmp_path, f"[daemon]\ndatabase = {value}\n")
    assert problem.startswith("2: daemon.database: ")


@pytest.mark.parametrize("name", ["", " ", "a\\nb", "\\u001b[2J", "x" * 201])
def test_a_queues_name_can_be_shown(tmp_path: Path, name: str) -> None:
    (problem,) = problems(tmp_path, HEAD + f'[queues."{name}"]\ncommand = "x"\n')
    assert "a queue's name" in problem


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a = 1\na = 2\n", 2),
        ("[daemon]\n\n[daemon]\n", 3),
        ("x = { a = 1, a = 2 }", 1),
        ("\n\na = [\n", 3),
        ('a = "x\n', 1),
        ("a.b = 1\na = 2", 2),
        ("\nx = " + "[" * 100_000, 1),
        ("\nx = " + "9" * 5000, 2),
        ("\nx = 2024-13-45", 2),
        ("\n\nx = \x01", 3),
    ],
)
def test_what_is_no_toml_has_its_line_too(tmp_path: Path, text: str, line: int) -> None:
    (problem,) = problems(tmp_path, text)
    assert problem.startswith(f"{line}: ")


def test_a_file_in_another_encoding_has_its_line_too(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, "# fine\n# naïve\n".encode("latin-1"))
    assert problem.startswith("2: ")
    assert "UTF-8" in problem


def test_a_mark_at_the_beginning_and_other_line_ends_do_no_harm(tmp_path: Path) -> None:
    text = QUEUE.replace("\n", "\r\n")
    assert load(write(tmp_path, b"\xef\xbb\xbf" + text.encode())).queues["mail"].command == "cat"


def test_a_file_that_is_something_else_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, b"x" * 2_000_000)
    for each in (path, tmp_path, tmp_path / "none", Path("/dev/zero")):
        with pytest.raises(ConfigError, match=str(each)):
            load(each)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = write(tmp_path, QUEUE)
    path.chmod(0)
    with pytest.raises(ConfigDenied, match="permission"):
        load(path)


def test_what_is_relative_is_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, QUEUE)
    monkeypatch.chdir(tmp_path.parent)
    config = load(Path(tmp_path.name) / "sqlqd.toml")
    assert config.path == tmp_path / "sqlqd.toml"
    assert config.daemon.database == tmp_path / "queue.db"


def test_the_file_that_is_named_comes_before_the_environments(tmp_path: Path) -> None:
    assert locate("/one", {"SQLQD_CONFIG": "/two"}) == Path("/one")
    assert locate(None, {"SQLQD_CONFIG": "/two"}) == Path("/two")
    assert locate("one", {}) == Path.cwd() / "one"


def test_every_field_of_a_table_is_a_key_with_a_text() -> None:
    for declared in (settings.Daemon, settings.Queue):
        fields = declared.__annotations__.keys() - {"name"}
        assert {key.field for key in declared.keys.values()} == fields
        assert all(key.text for key in declared.keys.values())


def test_there_is_a_slot_for_every_worker_and_the_steward() -> None:
    assert settings.MOST_WORKERS == board.SLOTS - 1


def test_who_asks_hears_of_users_that_cannot_be_with_their_lines(tmp_path: Path) -> None:
    text = QUEUE + 'user = "a"\n[queues.b]\n[defaults]\ncommand = "c"\nuser = "b"\n'
    assert load(write(tmp_path, text)).queues["b"].user == "b"
    with pytest.raises(ConfigError) as wrong:
        load(tmp_path / "sqlqd.toml", users=lambda name: f"no {name}")
    assert wrong.value.problems == (
        f'{tmp_path}/sqlqd.toml:5: queue "mail": user: no a',
        f"{tmp_path}/sqlqd.toml:9: defaults.user: no b",
    )
