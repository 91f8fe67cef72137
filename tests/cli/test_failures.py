"""How failures meet people and scripts: one line, the right status, never a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sqlqd.version import VERSION
from tests.support.shell import SQLQD, Desk


def test_the_configuration_is_named_before_or_behind_the_verb(desk: Desk) -> None:
    env = desk.environment(SQLQD_CONFIG="/no/such/file")
    path = os.fspath(desk.config)
    assert desk.run("-c", path, "enqueue", "mail", env=env).code == 0
    assert desk.run("enqueue", "mail", "--config", path, env=env).code == 0
    assert desk.run("--config=/no/such/file", "enqueue", "-c", "sqlqd.toml", "mail", env=env).code == 0
    assert len(desk.jobs()) == 3


def test_without_a_configuration_it_says_where_it_looked(desk: Desk) -> None:
    env = desk.environment()
    del env["SQLQD_CONFIG"]
    if Path("/etc/sqlqd/sqlqd.toml").exists():
        pytest.skip("this machine has an installed configuration")
    result = desk.run("status", env=env)
    assert result.code == 78
    for said in ("--config", "SQLQD_CONFIG", "/etc/sqlqd/sqlqd.toml", "sqlqd init", "./sqlqd.toml"):
        assert said in result.err
    assert result.err.count("\n") == 1


def test_a_file_that_is_not_there_is_named(desk: Desk) -> None:
    result = desk.run("-c", "nosuch.toml", "status")
    assert result.code == 78
    assert str(desk.directory / "nosuch.toml") in result.err


def test_every_mistake_in_the_configuration_is_told_at_once(desk: Desk) -> None:
    desk.config.write_text("[daemon]\nworkers = true\n[queues.mail]\ncomand = 'cat'\n")
    result = desk.run("check")
    assert (result.code, result.out) == (78, "")
    lines = result.err.splitlines()
    assert [line.split(": ")[1] for line in lines] == [f"{desk.config}:{n}" for n in (1, 2, 3, 4)]
    assert 'did you mean "command"?' in lines[3]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user who may not read the file")
def test_a_file_that_may_not_be_read(desk: Desk) -> None:
    for path in (desk.directory, *desk.directory.parents):
        if path != Path("/tmp") and os.fspath(path).startswith("/tmp/"):
            path.chmod(0o755)
    desk.config.chmod(0o600)
    result = desk.run("status", wrap=["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"])
    if "setpriv" in result.err or ("Permission denied" in result.err and "sqlqd:" not in result.err):
        pytest.skip("another user cannot run the program where it is installed here")
    assert result.code == 77
    assert "run this as root" in result.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Usage"),
        (["nosuch"], "nosuch"),
        (["--nosuch"], "--nosuch"),
        (["status", "surplus"], "surplus"),
        (["list", "--limit", "0"], "limit"),
        (["list", "--older-than", "5 parsecs"], "parsecs"),
        (["enqueue", b"\xff\x1b[31m"], "UTF-8"),
    ],
)
def test_usage_is_told_in_one_line(desk: Desk, words: list[str], said: str) -> None:
    result = desk.run(*words)
    assert result.code == 2
    assert said in result.err + result.out
    assert "\x1b" not in result.err
    assert "Traceback" not in result.err


def test_help_and_version_succeed(desk: Desk) -> None:
    assert desk.good("--version").out == f"sqlqd {VERSION}\n"
    assert "enqueue" in desk.good("--help").out
    assert "--delay" in desk.good("enqueue", "-h").out


def test_somebody_elses_table_is_left_alone(desk: Desk) -> None:
    program = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
        "c.execute('CREATE TABLE jobs (mine)'); c.commit(); c.close()"
    )
    subprocess.run([sys.executable, "-c", program, desk.database], check=True)
    before = desk.database.read_bytes()
    for words in (["enqueue", "mail"], ["status"]):
        result = desk.run(*words)
        assert (result.code, result.out) == (1, "")
        assert str(desk.database) in result.err
    assert desk.database.read_bytes() == before


@pytest.mark.parametrize("words", [["status"], ["list"], ["status", "--json"], ["schema"], ["check"]])
def test_a_full_standard_output_is_a_failure_of_output(desk: Desk, words: list[str]) -> None:
    desk.enqueue("mail")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [SQLQD, *words], stdout=full, stderr=subprocess.PIPE, env=desk.environment(), check=False
        )
    assert done.returncode == 74
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["status"], ["list"], ["list", "--json"], ["schema"], ["check"]])
def test_a_reader_who_has_left_is_no_failure(desk: Desk, words: list[str]) -> None:
    desk.enqueue("mail")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [SQLQD, *words], stdout=writer, stderr=subprocess.PIPE, env=desk.environment(), check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_closed_standard_descriptors_are_survived(desk: Desk) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$0" enqueue mail closed <&- >&- 2>&-', SQLQD], env=desk.environment(), check=False
    )
    assert done.returncode == 0
    assert desk.payloads("mail") == ["closed"]
