"""What a command says of itself: two kinds of lines, and everything else passed over."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlqd.command import control
from sqlqd.command.control import MOST, MOST_NAMED, Control, Malformed, RetryAfter, Word, parse
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
    monkeypatch.setenv("TMPDIR", str(tmp_path))
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
    file.close()
    assert not path.exists()
    assert file.words() == []


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Control]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    one = Control("f" * 16)
    assert one.begin() is not None
    yield one
    one.close()


def said(words: list[Word]) -> list[object]:
    return [word.reason if isinstance(word, Malformed) else word for word in words]


def test_who_says_much_is_heard_to_the_end(file: Control) -> None:
    with file.path.open("a") as writer:
        for percent in (1, 2, 3):
            writer.write(f"progress {percent}\n" * (MOST // 12))
            writer.flush()
            assert file.words()[-1] == Progress(percent)
        writer.write("retry-after 5m")
    assert file.words(last=True) == [RetryAfter(300.0)]


@pytest.mark.parametrize("much", [MOST, 2 * MOST, 50 * MOST + 7])
def test_of_too_much_at_once_the_last_lines_are_read(file: Control, much: int) -> None:
    file.path.write_bytes(b"\xff" * much + b"\nprogress 6\n")
    passed_over, last = said(file.words())
    assert str(passed_over).endswith("only the last lines are read")
    assert last == Progress(6.0)
    assert file.words(last=True) == []


def test_a_line_without_an_end_is_not_all_kept(file: Control) -> None:
    for _ in range(5):
        with file.path.open("ab") as writer:
            writer.write(b"x" * (MOST - 1))
        assert file.words() == []
    with file.path.open("ab") as writer:
        writer.write(b"\nprogress 7")
    nonsense, last = file.words(last=True)
    assert isinstance(nonsense, Malformed)
    assert last == Progress(7.0)


def test_of_lines_that_mean_nothing_the_first_are_named_and_the_others_counted(file: Control) -> None:
    file.path.write_text("bogus\n" * 1000 + "retry-after 5m\n")
    named = file.words()
    assert len(named) == MOST_NAMED + 1
    assert named[-1] == RetryAfter(300.0)
    assert said(file.words(last=True)) == ["990 more lines that mean nothing"]
    assert file.begin() is not None
    assert file.words(last=True) == []


def test_what_stands_in_the_way_leaves_it_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / f"sqlqd-control-{'f' * 16}").symlink_to("/etc/passwd")
    file = Control("f" * 16)
    assert file.begin() is None
    assert file.words(last=True) == []
    file.close()
    control.forget("f" * 16)
    assert list(tmp_path.iterdir()) == []
    control.forget("f" * 16)


@pytest.mark.parametrize("named", ["", "/nowhere"])
def test_a_folder_that_cannot_be_used_is_passed_over(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("TMPDIR", named)
    assert control.path_of("f" * 16) == Path("/tmp") / f"sqlqd-control-{'f' * 16}"
