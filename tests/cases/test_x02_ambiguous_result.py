"""`enqueue` exits 0 if and only if the job is on disk, whatever becomes of its output."""

import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.shell import SQLQD, Desk


@pytest.mark.case("X02")
@pytest.mark.parametrize("words", [["mail"], ["mail", "--json"], ["mail", "--lines"]])
def test_a_reader_who_has_left_does_not_undo_what_is_added(tmp_path: Path, words: list[str]) -> None:
    desk = Desk(tmp_path)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [SQLQD, "enqueue", *words],
        input=b"one\ntwo\n",
        stdout=writer,
        stderr=subprocess.PIPE,
        env=desk.environment(),
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(desk.jobs()) == (2 if "--lines" in words else 1)


@pytest.mark.case("X02")
@pytest.mark.parametrize("words", [["mail"], ["mail", "--lines"]])
def test_an_output_that_is_full_does_not_either_but_is_said(tmp_path: Path, words: list[str]) -> None:
    desk = Desk(tmp_path)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [SQLQD, "enqueue", *words],
            input=b"one\n",
            stdout=full,
            stderr=subprocess.PIPE,
            env=desk.environment(),
            check=False,
        )
    assert done.returncode == 0
    assert done.stderr.count(b"\n") == 1
    assert b"added" in done.stderr
    assert len(desk.jobs()) == 1


@pytest.mark.case("X02")
@pytest.mark.parametrize(
    ("point", "added"), [("store.begun", 0), ("store.before_commit", 0), ("store.after_commit", 1)]
)
def test_an_error_before_the_commit_adds_nothing_and_prints_nothing(
    tmp_path: Path, point: str, added: int
) -> None:
    desk = Desk(tmp_path)
    desk.enqueue("mail", "before")
    result = desk.run("enqueue", "mail", "x", env=desk.environment(SQLQD_FAULT=f"{point}=kill"))
    assert result.code == -signal.SIGKILL
    assert result.out == ""
    assert len(desk.jobs()) == 1 + added


@pytest.mark.case("X02")
def test_under_load_and_kills_every_id_that_was_printed_is_there(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    dice = random.Random(2)
    told: list[str] = []
    succeeded = 0
    for _ in range(5):
        running = [
            subprocess.Popen(
                [SQLQD, "enqueue", "mail", f"{at}"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=desk.environment(),
            )
            for at in range(10)
        ]
        for process in running[::3]:
            try:
                process.wait(dice.uniform(0.05, 0.3))
            except subprocess.TimeoutExpired:
                process.kill()
        for process in running:
            out, err = process.communicate(timeout=60)
            told += out.decode().split()
            succeeded += process.returncode == 0
            assert process.returncode in {0, -signal.SIGKILL}, err
    there = {job["id"] for job in desk.jobs()}
    assert set(told) <= there
    assert len(told) >= succeeded >= 30


@pytest.mark.case("X02")
def test_a_key_makes_it_safe_to_try_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    first = desk.enqueue("mail", "x", "--key", "order-17")
    assert desk.enqueue("mail", "x", "--key", "order-17") == first
    assert len(desk.jobs()) == 1
