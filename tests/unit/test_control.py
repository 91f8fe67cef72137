"""What a command says of itself: two kinds of lines, and everything else passed over."""

import tempfile
from pathlib import Path

import pytest

from sqlqd.command import control
from sqlqd.command.control import MOST, Control, Malformed, RetryAfter, parse
from sqlqd.model import Progress


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("retry-after 10m", RetryAfter(600.0)),
        ("  retry-after 90 ", RetryAfter(90.0)),
        ("progress 40 encoding the rest", Progress(40.0, "encoding the rest")),
        ("progress 99.5%", Progress(99.5)),
        ("progress 0", Progress(0.0)),
        ("", None),
        ("   ", None),
    ],
)
def test_two_kinds_of_lines_are_known(line: str, word: object) -> None:
    assert parse(line) == word


@pytest.mark.parametrize(
    "line",
    [
        *("retry-after", "retry-after soon", "retry-after -1", "retry-after infinity", "retry-after 9999d"),
        *("progress", "progress much", "progress 101", "progress -1", "progress nan", "progress inf"),
        *("hello", "RETRY-AFTER 10m", "\0", "x" * 10_000),
    ],
)
def test_all_else_is_malformed_and_said_so_briefly(line: str) -> None:
    word = parse(line)
    assert isinstance(word, Malformed)
    assert 0 < len(word.reason) < 250


def test_it_is_read_as_it_grows_and_empty_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    file = Control("f" * 16)
    path = file.begin()
    assert path is not None
    assert path.stat().st_mode & 0o777 == 0o600
    with path.open("a") as writer:
        writer.write("progress 10\nprogress 2")
        writer.flush()
        assert file.words() == [Progress(10.0)]
        assert file.words() == []
        writer.write("0\nprogress 30")
        writer.flush()
        assert file.words() == [Progress(20.0)]
        assert file.words(last=True) == [Progress(30.0)]
    assert file.begin() == path
    assert path.read_text() == ""
    assert file.words(last=True) == []
    path.write_bytes(b"progress 5\n" + b"\xff" * (2 * MOST) + b"\nprogress 6\n")
    assert [type(word) for word in (*file.words(), *file.words(last=True))] == [Progress]
    file.close()
    assert not path.exists()
    assert file.words() == []


def test_what_stands_in_the_way_leaves_it_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / f"sqlqd-control-{'f' * 16}").symlink_to("/etc/passwd")
    file = Control("f" * 16)
    assert file.begin() is None
    assert file.words(last=True) == []
    file.close()
    control.forget("f" * 16)
    assert list(tmp_path.iterdir()) == []
    control.forget("f" * 16)
