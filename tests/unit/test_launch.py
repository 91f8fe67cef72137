"""What a command is started with, and which refusals are whose fault."""

import errno
from pathlib import Path

import pytest

from sqlqd.command.launch import environment, inherited, missing, refused, unfit
from sqlqd.config import Queue
from sqlqd.model import Claim, Ended, Job


def queue(command: str | tuple[str, ...] = "true", cwd: Path = Path("/"), **more: object) -> Queue:
    return Queue(name="mail", command=command, cwd=cwd, **more)  # type: ignore[arg-type]  # a test's own settings


def claim(payload: str = "", key: str | None = None) -> Claim:
    return Claim(Job("0" * 32, "mail", payload, 0, 0.0, 3, None, key, 0.0, None), "t", 20, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "command",
    [
        "/nonexistent/a --b",
        "  ./nothing-here",
        "/nonexistent/a;true",
        "/nonexistent/a|cat",
        "/nonexistent/a>x",
        "/nonexistent/a\ntrue",
        "not/here",
    ],
)
def test_a_first_word_that_is_a_missing_path_is_seen(command: str) -> None:
    refusal = missing(queue(command))
    assert refusal is not None
    assert (refusal.how, refusal.lasting) == (Ended.NOT_STARTED, True)


@pytest.mark.parametrize(
    "command",
    [
        "true",
        "/bin/sh -c x",
        "nonexistent-program /a/b",
        "A=/nonexistent/b true",
        "$HOME/x",
        "~/x",
        '"/nonexistent/a" b',
        "/nonexistent/$x",
        "/nonexistent/*",
        "(/nonexistent/a)",
        "",
    ],
)
def test_what_only_a_shell_can_tell_is_left_to_it(command: str) -> None:
    assert missing(queue(command)) is None


def test_directories_and_plain_files_cannot_be_executed(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    for command, word in (("./plain", "executed"), (f"{tmp_path}", "directory"), ("./none", "no such file")):
        refusal = missing(queue(command, cwd=tmp_path))
        assert refusal is not None
        assert word in refusal.detail


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ETXTBSY])
def test_a_passing_lack_is_nobodys_fault(number: int) -> None:
    refusal = refused(OSError(number, "no"), queue(), claim())
    assert (refusal.how, refusal.lasting) == (Ended.NOT_STARTED, False)


def test_a_missing_directory_is_told_from_a_missing_program() -> None:
    place = queue(("prog",), cwd=Path("/gone"))
    assert "enter the directory /gone" in refused(OSError(2, "No such file", "/gone"), place, claim()).detail
    assert "cannot start prog" in refused(OSError(2, "No such file", "prog"), place, claim()).detail
    relative = refused(OSError(2, "No such file", "./prog"), place, claim()).detail
    assert relative == f"cannot start ./prog: no such file (`cwd` is {place.cwd})"


def test_a_missing_interpreter_is_named_as_such(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/nonexistent\n")
    refusal = refused(OSError(2, "No such file", str(script)), queue((str(script),)), claim())
    assert "interpreter" in refusal.detail


def test_too_large_is_the_jobs_fault_only_where_the_job_is_large() -> None:
    assert refused(OSError(errno.E2BIG, "no"), queue(), claim("x" * 60_000)).how is Ended.UNFIT
    assert refused(OSError(errno.E2BIG, "no"), queue(), claim("x")).how is Ended.NOT_STARTED


def test_a_nul_can_be_given_by_standard_input_alone() -> None:
    assert unfit(queue(), claim("a\0b")) is not None
    assert unfit(queue(payload_env=False), claim("a\0b")) is None
    assert unfit(queue(), claim("a", key="\0")) is not None


def test_the_environment_is_the_daemons_without_its_own_and_with_the_jobs() -> None:
    base = {b"PATH": b"/bin", b"LISTEN_FDS": b"1", b"SQLQD_KEY": b"of an outer job", b"RAW": b"\xff"}
    env = environment(
        inherited(base),
        queue(env={"PATH": "/opt", "TZ": "UTC"}),
        claim("€"),
        config=Path("/c.toml"),
        worker="w",
    )
    assert env == {
        b"PATH": b"/opt",
        b"TZ": b"UTC",
        b"RAW": b"\xff",
        b"SQLQD_JOB_ID": b"0" * 32,
        b"SQLQD_QUEUE": b"mail",
        b"SQLQD_KEY": b"",
        b"SQLQD_ATTEMPT": b"3",
        b"SQLQD_MAX_ATTEMPTS": b"20",
        b"SQLQD_PAYLOAD": "€".encode(),
        b"SQLQD_CONFIG": b"/c.toml",
        b"SQLQD_WORKER": b"w",
    }
