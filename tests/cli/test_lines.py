"""`sqlqd enqueue --lines`: many jobs from standard input."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from sqlqd.cli import adding
from sqlqd.cli.failure import Refused
from sqlqd.newjob import NewJob
from tests.support.shell import SQLQD, Desk


def test_each_line_is_a_job_in_order(desk: Desk) -> None:
    result = desk.good("enqueue", "mail", "--lines", stdin=b"one\n\n three \nfour\r\nlast")
    assert desk.payloads("mail") == ["one", "", " three ", "four\r", "last"]
    assert result.out.split() == [job["id"] for job in desk.jobs()]


@pytest.mark.parametrize("option", ["--atomic", "--json"])
def test_no_lines_are_no_jobs(desk: Desk, option: str) -> None:
    assert desk.good("enqueue", "mail", "--lines", option).out == ""


def test_many_lines_are_all_there(desk: Desk) -> None:
    lines = [f"payload number {n}" for n in range(5000)]
    result = desk.good("enqueue", "mail", "--lines", stdin="\n".join(lines).encode())
    assert len(set(result.out.split())) == 5000
    assert desk.payloads("mail") == lines


def test_json_is_a_document_a_line(desk: Desk) -> None:
    result = desk.good("enqueue", "mail", "--lines", "--json", stdin=b"a\nb\n")
    assert [line["created"] for line in result.json_lines] == [True, True]


def test_an_id_comes_as_soon_as_its_line_is_committed(desk: Desk) -> None:
    with subprocess.Popen(
        [SQLQD, "enqueue", "mail", "--lines"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=desk.environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"first\n")
        process.stdin.flush()
        told = process.stdout.readline().decode().strip()
        assert [job["id"] for job in desk.jobs()] == [told]
        process.stdin.close()
    assert process.returncode == 0


def test_stopped_half_way_it_says_how_many_were_added(desk: Desk) -> None:
    result = desk.run("enqueue", "json", "--lines", stdin=b"1\n2\n3\nnot json\n5\n")
    assert result.code == 1
    assert "lines added: 3;" in result.err
    assert "line 4" in result.err
    assert result.err.count("\n") == 1
    assert result.out.split() == [job["id"] for job in desk.jobs()]
    assert desk.payloads("json") == ["1", "2", "3"]


def test_refused_at_the_first_line_nothing_was_added(desk: Desk) -> None:
    result = desk.run("enqueue", "json", "--lines", stdin=b"not json\n2\n")
    assert (result.code, result.out) == (2, "")
    assert "line 1" in result.err
    assert desk.jobs() == []


def test_atomic_is_all_or_none(desk: Desk) -> None:
    result = desk.run("enqueue", "json", "--lines", "--atomic", stdin=b"1\n2\nnot json\n")
    assert (result.code, result.out) == (2, "")
    assert desk.jobs() == []
    desk.good("enqueue", "json", "--lines", "--atomic", stdin=b"1\n2\n")
    assert desk.payloads("json") == ["1", "2"]


def test_atomic_counts_what_empty_lines_take(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    os.write(write, b"\n" * 100)
    os.close(write)
    monkeypatch.setattr(adding, "STANDARD_INPUT", read)
    monkeypatch.setattr(adding, "_LARGEST_ATOMIC", 5000)
    with pytest.raises(Refused, match="leave --atomic out"):
        list(adding._whole(adding.Intake(NewJob("mail"), None)))
    os.close(read)


def test_a_line_without_an_end_is_not_read_for_ever(desk: Desk) -> None:
    with Path("/dev/zero").open("rb") as endless:
        done = subprocess.run(
            [SQLQD, "enqueue", "small", "--lines"],
            stdin=endless,
            capture_output=True,
            env=desk.environment(),
            timeout=30,
            check=False,
        )
    assert done.returncode == 2
    assert b"max_payload" in done.stderr


def test_interrupted_it_says_how_many_were_added(desk: Desk) -> None:
    with subprocess.Popen(
        [SQLQD, "enqueue", "mail", "--lines"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=desk.environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"first\n")
        process.stdin.flush()
        process.stdout.readline()
        os.kill(process.pid, 2)
        assert b"lines added: 1;" in process.stderr.read()
    assert process.returncode == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("point", ["store.before_commit", "store.after_commit"])
def test_stopped_by_a_signal_at_a_commit_it_counts_what_is_on_disk(
    desk: Desk, number: signal.Signals, point: str
) -> None:
    code, out, told = _signalled(desk, number, point, "--lines", stdin=b"1\n2\n3\n")
    assert code == 1
    assert told.startswith(f"sqlqd: lines added: {len(desk.jobs())};")
    assert (len(desk.jobs()), out.split()) == (3, [job["id"] for job in desk.jobs()])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("point", ["store.before_commit", "store.after_commit"])
@pytest.mark.parametrize(
    ("words", "stdin"), [(("payload",), b""), (("--lines", "--atomic"), b"1\n2\n3\n")], ids=["one", "atomic"]
)
def test_what_is_all_on_disk_is_told_whatever_signal_comes(
    desk: Desk, number: signal.Signals, point: str, words: tuple[str, ...], stdin: bytes
) -> None:
    code, out, told = _signalled(desk, number, point, *words, stdin=stdin)
    assert len(desk.jobs()) == (stdin.count(b"\n") or 1)
    assert (code, out.split(), told) == (0, [job["id"] for job in desk.jobs()], "")


def _signalled(
    desk: Desk, number: signal.Signals, point: str, *words: str, stdin: bytes = b""
) -> tuple[int, str, str]:
    """Enqueue, and be sent a signal while standing at a point of the commit: status, output, errors."""
    desk.good("enqueue", "small", "--lines", "--atomic")
    with subprocess.Popen(
        [SQLQD, "enqueue", "mail", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=desk.environment(SQLQD_FAULT=f"{point}=stop@1"),
    ) as process:
        assert process.stdin is not None
        process.stdin.write(stdin)
        process.stdin.close()
        process.stdin = None
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        out, told = process.communicate(timeout=30)
    return process.returncode, out.decode(), told.decode()
