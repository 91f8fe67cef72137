"""Files of secrets: what systemd reads in one, and what is said of one that nobody can read."""

import os
from pathlib import Path

import pytest

from sqlqd.command.envfile import LARGEST, Malformed, Unusable, parse, read


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("A=b\n", {"A": "b"}),
        ("A=b", {"A": "b"}),
        ("  A = b \t\n", {"A": "b"}),
        ("A=\nB=", {"A": "", "B": ""}),
        ("# A=b\n; B=c\n\n  \t\n #\n_9=d", {"_9": "d"}),
        ("A=1\nA=2", {"A": "2"}),
        ("A=b=c # d; e", {"A": "b=c # d; e"}),
        ("A=$HOME `x` %i ~", {"A": "$HOME `x` %i ~"}),
        ('A=it\'s "so"', {"A": 'it\'s "so"'}),
        ('A="b c" \nB=\'d "\\n $e\'', {"A": "b c", "B": 'd "\\n $e'}),
        ('A="a\\"b\\\\c\\$d\\`e\\n"', {"A": 'a"b\\c$d`e\\n'}),
        ('A="b"\'c\'  "d" e\nB=f', {"A": "bcde", "B": "f"}),
        ('A="-----BEGIN\nKEY\n-----"\nB=c', {"A": "-----BEGIN\nKEY\n-----", "B": "c"}),
        ('A="b\\\nc"\nB=d\\\ne', {"A": "bc", "B": "de"}),
        ("A=a\\ \\\\b\\", {"A": "a \\b"}),
        ("A=b\r\nB='c\r\nd'\r\n", {"A": "b", "B": "c\nd"}),
        ("A=\u00e9", {"A": "\u00e9"}),
    ],
)
def test_it_is_read_as_systemd_reads_it(text: str, found: dict[str, str]) -> None:
    assert parse(text) == found


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("hush", 1),
        ("A=b\n\n# c\nhush hush", 4),
        ("A=b\nexport hush=hush", 2),
        ("hush-=1", 1),
        ("=hush", 1),
        ("9=hush", 1),
        ("A=b\nB='hush\nhush", 2),
        ('A="x\ny"\nB="hush\n\n', 3),
        ('B="hush\\', 1),
        ("SQLQD_JOB_ID=hush", 1),
        ("A=hush\0", 1),
    ],
)
def test_a_mistake_is_said_with_its_line_and_nothing_that_stands_there(text: str, line: int) -> None:
    with pytest.raises(Malformed) as wrong:
        parse(text)
    assert wrong.value.line == line
    assert "hush" not in str(wrong.value)


def test_its_bytes_come_through(tmp_path: Path) -> None:
    path = tmp_path / "secrets"
    path.write_bytes(b"\xef\xbb\xbfA=\xff\xc3\xa9\n")
    assert {name: os.fsencode(value) for name, value in read(path).items()} == {"A": b"\xff\xc3\xa9"}


def test_what_is_no_file_of_a_sensible_size_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"A=" + b"x" * LARGEST)
    os.mkfifo(tmp_path / "pipe")
    for name, why in (
        ("gone", "no such"),
        ("long/x", "no such"),
        ("", "not a"),
        ("pipe", "not a"),
        ("long", "larger"),
    ):
        with pytest.raises(Unusable) as refused:
            read(tmp_path / name)
        assert str(refused.value).startswith(f"env_file {tmp_path}")
        assert why in str(refused.value)
