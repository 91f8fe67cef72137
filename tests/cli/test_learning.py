"""What a person learns from: help with an example in each verb, a manual page, names behind a Tab."""

import os
import shutil
import subprocess
from inspect import cleandoc
from pathlib import Path

import click
import pytest

from scripts.manual import page
from sqlqd.cli.verbs import CHAPTERS, VERBS, sqlqd
from tests.support.shell import SQLQD, Desk

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_an_example_that_begins_as_it_is_typed(verb: str) -> None:
    command = sqlqd.get_command(click.Context(sqlqd), verb)
    assert command is not None
    examples = [part for part in cleandoc(command.help or "").split("\n\n") if part.startswith("Example: ")]
    assert len(examples) == 1
    words = examples[0].split()
    assert any("sqlqd" in word for word in words[1:4])
    assert verb in examples[0]
    # As it is shown, on one line of 80 columns: what is taken from there must work.
    assert "\n" not in examples[0]
    assert len(examples[0]) <= 76


def test_verbs_stand_in_chapters_and_words_are_explained(desk: Desk) -> None:
    told = desk.good("--help").out
    assert all(f"{chapter}:\n  {first} " in told for first, chapter in CHAPTERS.items())
    assert all(f"\n  {verb} " in told for verb in VERBS)
    assert '90, 250ms, "1h 30min", 7d' in " ".join(told.split())


def test_the_manual_page_is_what_the_verbs_say() -> None:
    assert (ROOT / "docs" / "sqlqd.1").read_text(encoding="utf-8") == page(), "run scripts/manual"


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff to read it")
def test_the_manual_page_is_plain_to_its_reader() -> None:
    words = ["groff", "-man", "-ww", "-Tutf8", os.fspath(ROOT / "docs" / "sqlqd.1")]
    read = subprocess.run(words, capture_output=True, text=True, check=True)
    assert [line for line in read.stderr.splitlines() if "troff backend" not in line] == []
    assert all(verb in read.stdout for verb in VERBS)


def completed(desk: Desk, line: str) -> set[str]:
    """What bash offers at the end of a line."""
    words = line.split(" ")
    env = desk.environment(_SQLQD_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
    done = subprocess.run([SQLQD], env=env, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return {one.partition(",")[2] for one in done.stdout.split()}


def test_verbs_and_the_names_of_queues_are_offered(desk: Desk) -> None:
    assert {"enqueue", "status"} <= completed(desk, "sqlqd ")
    assert completed(desk, "sqlqd enq") == {"enqueue"}
    assert completed(desk, "sqlqd enqueue ") == {"mail", "json", "small"}
    assert completed(desk, "sqlqd enqueue m") == {"mail"}
    assert completed(desk, "sqlqd list --queue s") == {"small"}
    assert completed(desk, "sqlqd pause mail j") == {"json"}


def test_a_broken_configuration_offers_nothing_and_says_nothing(desk: Desk) -> None:
    desk.config.write_text("[queues")
    assert completed(desk, "sqlqd enqueue m") == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(desk: Desk, shell: str) -> None:
    env = desk.environment(_SQLQD_COMPLETE=f"{shell}_source")
    done = subprocess.run([SQLQD], env=env, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0
    assert "_SQLQD_COMPLETE" in done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to ask")
def test_bash_itself_offers_names_by_its_script(desk: Desk) -> None:
    env = desk.environment(PATH=f"{Path(SQLQD).parent}:{os.environ['PATH']}")
    asked = (
        'eval "$(_SQLQD_COMPLETE=bash_source sqlqd)"; COMP_WORDS=(sqlqd enqueue m); COMP_CWORD=2; '
        '_sqlqd_completion sqlqd; echo "${COMPREPLY[*]}"; complete -p sqlqd'
    )
    done = subprocess.run(
        ["bash", "-c", asked], env=env, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.stdout.splitlines()[0], done.stderr) == ("mail", "")
    assert done.stdout.splitlines()[1].endswith(" _sqlqd_completion sqlqd")
