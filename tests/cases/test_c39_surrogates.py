"""Bytes that are no UTF-8 are refused in words that can be printed; escaped ones are text."""

import os
from pathlib import Path

import pytest

from tests.support.shell import Desk

BROKEN: list[tuple[list[str | bytes], bytes]] = [
    (["enqueue", "mail", b'{"a":"\xff"}'], b""),
    (["enqueue", b"\xff"], b""),
    (["enqueue", "--any-queue", b"\xff"], b""),
    (["enqueue", "mail", "--key", b"\xed\xa0\x80"], b""),
    (["enqueue", "mail", "-"], "naïve".encode("latin-1")),
    (["enqueue", "json", "--lines", "--atomic"], b"1\n\xff\n"),
    (["list", "--queue", b"\xff"], b""),
    (["show", b"\xff\xff\xff\xff\xff\xff"], b""),
    (["retry", "-"], b"\xff\xff\xff\xff\xff\xff\n"),
]


@pytest.mark.case("C39")
@pytest.mark.parametrize(("words", "stdin"), BROKEN, ids=repr)
@pytest.mark.parametrize("locale", [{}, {"LC_ALL": "C"}, {"PYTHONUTF8": "0", "LC_ALL": "POSIX"}], ids=str)
def test_it_is_refused_in_one_line_and_no_row_is_made(
    tmp_path: Path, words: list[str | bytes], stdin: bytes, locale: dict[str, str]
) -> None:
    desk = Desk(tmp_path)
    desk.enqueue("mail", "before")
    env = {"PATH": os.environ["PATH"], "SQLQD_CONFIG": os.fspath(desk.config), **locale}
    result = desk.run(*words, stdin=stdin, env=env)
    assert (result.code, result.out) == (2, "")
    assert result.err.count("\n") == 1
    assert result.err.strip().isprintable()
    assert [job["payload"] for job in desk.jobs()] == ["before"]


@pytest.mark.case("C39")
@pytest.mark.parametrize("payload", ['{"a":"\\ud800"}', '"\\udfff\\ud800"'])
def test_an_escaped_one_is_passed_on_as_text(tmp_path: Path, payload: str) -> None:
    desk = Desk(tmp_path)
    job = desk.enqueue("json", payload)
    assert desk.payloads("json") == [payload]
    assert payload in desk.good("show", job).out
