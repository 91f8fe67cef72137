"""Which configuration a command takes: what was said before or behind the verb, else what is in place."""

import os
from pathlib import Path

import pytest

from tests.support.shell import Desk


def surroundings(desk: Desk, **more: str) -> dict[str, str]:
    """A person's environment, at home in the desk's directory, with no configuration named."""
    env = {name: value for name, value in desk.environment().items() if name != "SQLQD_CONFIG"}
    kept = {name: value for name, value in env.items() if not name.startswith("XDG_")}
    return kept | {"HOME": os.fspath(desk.directory)} | more


def used(desk: Desk, *words: str, **more: str) -> str:
    """The configuration that `check` takes, relative to the desk's directory."""
    result = desk.run(*words, "--json", env=surroundings(desk, **more))
    assert result.code == 0, result
    return str(Path(result.json["config"]).relative_to(desk.directory))


def test_a_user_begins_with_a_configuration_and_a_database_of_his_own(desk: Desk) -> None:
    made = desk.run("--user", "init", env=surroundings(desk))
    assert made.code == 0, made
    assert used(desk, "check", "--user") == used(desk, "--user", "check") == ".config/sqlqd/sqlqd.toml"
    added = desk.run("--user", "enqueue", "hello", env=surroundings(desk))
    assert added.code == 0, added
    assert (desk.directory / ".local/state/sqlqd/queue.db").exists()
    again = desk.run("init", "--user", env=surroundings(desk))
    assert (again.code, "already there" in again.err) == (1, True)


def test_a_user_may_have_moved_his_folders(desk: Desk) -> None:
    env = {"XDG_CONFIG_HOME": f'{desk.directory}/c "1', "XDG_STATE_HOME": f"{desk.directory}/s"}
    assert desk.run("--user", "init", env=surroundings(desk, **env)).code == 0
    assert used(desk, "--user", "check", **env) == 'c "1/sqlqd/sqlqd.toml'
    assert (desk.directory / "s/sqlqd").is_dir()
    # What is not absolute does not count.
    missing = desk.run("--user", "check", env=surroundings(desk, XDG_CONFIG_HOME="relative"))
    assert (missing.code, "sqlqd --user init" in missing.err) == (78, True)
    assert f"{desk.directory}/.config/sqlqd/sqlqd.toml" in missing.err


def test_what_is_named_comes_before_what_is_in_place(desk: Desk) -> None:
    other = desk.directory / "other.toml"
    other.write_bytes(desk.config.read_bytes())
    assert used(desk, "check", SQLQD_CONFIG=str(desk.config)) == "sqlqd.toml"
    assert used(desk, "check", "--user", SQLQD_CONFIG=str(desk.config)) == "sqlqd.toml"
    assert used(desk, "-c", "other.toml", "check", SQLQD_CONFIG=str(desk.config)) == "other.toml"


def test_who_names_a_configuration_that_does_not_count_is_told(desk: Desk) -> None:
    # `enqueue` is read without click.
    for words in (("check", "--user"), ("--user", "enqueue", "mail"), ("-i", "other", "list")):
        result = desk.run(*words, env=surroundings(desk, SQLQD_CONFIG=str(desk.config)))
        assert result.code == 0, result
        (line,) = [line for line in result.err.splitlines() if "$SQLQD_CONFIG" in line]
        assert f"this is of {desk.config};" in line
    for counting in (["list"], ["-c", str(desk.config), "list"]):
        assert desk.run(*counting, env=surroundings(desk, SQLQD_CONFIG=str(desk.config))).err == ""


def test_of_one_that_is_given_twice_the_last_counts(desk: Desk) -> None:
    for name in ("one.toml", "two.toml"):
        (desk.directory / name).write_bytes(desk.config.read_bytes())
    assert used(desk, "-c", "one.toml", "check", "-c", "two.toml") == "two.toml"
    assert used(desk, "check", "-c", "two.toml", "-c", "one.toml") == "one.toml"


def test_an_instance_that_is_not_there_is_named_with_what_would_make_it(desk: Desk) -> None:
    missing = desk.run("-i", "no-such-instance", "check", env=surroundings(desk))
    assert missing.code == 78
    assert "/etc/sqlqd/no-such-instance.toml" in missing.err


@pytest.mark.parametrize(
    "words",
    [
        ("--user", "check", "-c", "sqlqd.toml"),
        ("-i", "one", "--user", "check"),
        ("-i", "one", "check", "-c", "sqlqd.toml"),
        ("-i", "../one", "check"),
        ("-i", "", "check"),
        ("-i", "one", "init"),
    ],
)
def test_contradictions_are_refused(desk: Desk, words: tuple[str, ...]) -> None:
    result = desk.run(*words, env=surroundings(desk))
    assert (result.code, result.out, result.err.count("\n")) == (2, "", 1), result


def test_a_configuration_that_is_missing_can_be_begun(desk: Desk) -> None:
    missing = desk.run("-c", "other.toml", "status")
    assert (missing.code, f"`sqlqd -c {desk.directory}/other.toml init` writes one" in missing.err) == (
        78,
        True,
    )
    desk.good("-c", "other.toml", "init")
    desk.good("-c", "other.toml", "check")


def test_init_makes_a_project_here_whatever_the_environment_names(desk: Desk) -> None:
    desk.config.unlink()
    result = desk.run("init", env=surroundings(desk, SQLQD_CONFIG=f"{desk.directory}/elsewhere.toml"))
    assert result.code == 0, result
    assert desk.config.exists()
    assert not (desk.directory / "elsewhere.toml").exists()


def test_the_sign_for_home_is_refused_with_its_line(desk: Desk) -> None:
    desk.config.write_text('[daemon]\ndatabase = "~/queue.db"\n')
    result = desk.run("check")
    assert (result.code, f"{desk.config}:2: " in result.err, "whole path" in result.err) == (78, True, True)
