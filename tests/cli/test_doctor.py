"""`sqlqd doctor` on installations that are broken in one way each."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.daemon import Daemon
from tests.support.shell import Desk, Result
from tests.support.sql import holding, stdlib

QUEUES = """
[queues.quick]
command = "true"
[queues.gone]
command = ["/no/such/program"]
[queues.typo]
command = "no-such-program --now"
"""


def found(result: Result, about: str) -> list[tuple[str, str, str]]:
    """What it tells of that, as severity, text and remedy."""
    return [
        (one["severity"], one["text"], one["remedy"])
        for one in result.json["findings"]
        if one["about"] == about
    ]


def diagnosed(desk: Desk, about: str, *options: str) -> tuple[str, str, str]:
    """The one thing that it tells of that."""
    (one,) = found(desk.run("doctor", "--json", *options), about)
    return one


def test_an_installation_that_is_in_order(tmp_path: Path) -> None:
    with Daemon(tmp_path, '[queues.quick]\ncommand = "true"\n') as daemon:
        daemon.start()
        daemon.event("job.finished", job_id=daemon.insert("quick"))
        healthy = daemon.sqlqd("doctor")
        assert healthy.returncode == 0, healthy.stdout
        assert "problem" not in healthy.stdout
        assert healthy.stdout.splitlines()[-1].startswith("nothing is wrong")
        full = daemon.sqlqd("doctor", "--full", "--json")
        assert (full.returncode, '"well": true' in full.stdout) == (0, True)


def test_what_a_person_broke_is_found(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES) as daemon:
        daemon.start()
        daemon.insert("gone")
        daemon.insert("mistyped")
        daemon.event("queue.blocked")
        seen = daemon.sqlqd("doctor")
        assert seen.returncode == 1
        text = seen.stdout
        for words in (
            "problem: queue gone: ",
            "/no/such/program",
            "queue typo: PATH has no no-such-program",
            "problem: 1 job is waiting in mistyped, which is not configured",
            "problem: gone is held for",
        ):
            assert words in text, text
        lines = text.splitlines()
        assert all(line.startswith("  ") for line in lines[1::2]), text
        assert lines.index(next(one for one in lines if one.startswith("problem"))) == 0


def test_no_database_and_one_that_is_none(desk: Desk) -> None:
    severity, text, _ = diagnosed(desk, "database")
    assert (severity, "there is no database" in text) == ("problem", True)
    desk.database.write_text("this is no database, whatever its name says")
    severity, text, _ = diagnosed(desk, "database")
    assert (severity, str(desk.database) in text) == ("problem", True)


def test_a_damaged_file_is_found(desk: Desk) -> None:
    for number in range(30):
        desk.enqueue("mail", f"{number}" * 2000)
    assert found(desk.run("doctor", "--json", "--full"), "integrity") == []
    with desk.database.open("r+b") as file:
        # Among the jobs' payloads, whose pages come last.
        file.seek(-20_000, os.SEEK_END)
        file.write(b"\xff" * 12_000)
    told = desk.run("doctor", "--json", "--full")
    assert told.code == 1
    damages = [*found(told, "integrity"), *found(told, "database")]
    assert damages
    assert all(severity == "problem" for severity, _, _ in damages)


def test_who_holds_the_log_and_the_lock_is_named(desk: Desk) -> None:
    desk.enqueue("mail")
    with holding(desk.database, "BEGIN", "SELECT count(*) FROM jobs") as reader:
        severity, text, _ = diagnosed(desk, "wal")
        assert (severity, f"(pid {reader})" in text) == ("note", True)
    with holding(desk.database, "BEGIN IMMEDIATE") as writer:
        severity, text, _ = diagnosed(desk, "lock")
        assert (severity, f"(pid {writer})" in text) == ("problem", True)


def test_accidents_with_permissions_are_found(desk: Desk) -> None:
    desk.enqueue("mail")
    assert found(desk.run("doctor", "--json"), "access") == []
    desk.directory.chmod(0o777)
    desk.config.chmod(0o666)
    told = found(desk.run("doctor", "--json"), "access")
    assert [remedy for _, _, remedy in told] == [f"chmod o-w {desk.directory}", f"chmod o-w {desk.config}"]
    desk.directory.chmod(0o755)
    desk.config.chmod(0o644)
    with holding(desk.database, "SELECT count(*) FROM jobs"):
        Path(f"{desk.database}-wal").chmod(0o600)
        severity, text, remedy = diagnosed(desk, "access")
    assert (severity, "-wal (0600 " in text) == ("problem", True)
    assert remedy.endswith(f"chmod 660 {desk.database}-wal")


def test_clocks_that_disagree_are_found(desk: Desk) -> None:
    job = desk.enqueue("mail", "", "--delay", "500d")
    severity, text, remedy = diagnosed(desk, "clock")
    assert (severity, text.startswith("1 job is due in more than a year")) == ("note", True)
    assert job in remedy
    desk.good("cancel", job)
    desk.done("mail")
    stdlib(desk.database, "UPDATE done_jobs SET ended_at = ended_at + 7200.5")
    severity, text, _ = diagnosed(desk, "clock")
    assert (severity, "2h before the newest record" in text) == ("problem", True)


def test_leases_of_whom_nobody_knows_are_told(desk: Desk) -> None:
    desk.enqueue("mail")
    desk.claim("mail")
    severity, text, _ = diagnosed(desk, "leases")
    assert (severity, text) == ("note", "1 job is held by workers that are gone, or by other programs")


def test_a_systemctl_that_does_not_answer_is_said(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    # Of a file in /etc/sqlqd it is known which unit would run by it.
    program = (
        "import sys; from pathlib import Path;"
        "from sqlqd.cli import examination;"
        "from sqlqd.cli.daemons import Living; from sqlqd.config import load;"
        "config = load(Path(sys.argv[1]))._replace(path=Path('/etc/sqlqd/mail.toml'));"
        "(one,) = examination.unit(config, Living((), frozenset()));"
        "print(one.severity.value, one.text, sep=': ')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(desk.config)],
        env={**desk.environment(), "PATH": str(tmp_path / "bin")},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout == ("not examined: how sqlqd@mail.service is set up: systemctl does not answer\n")


def test_the_database_is_left_as_it_was(desk: Desk) -> None:
    desk.enqueue("mail")
    before = desk.database.read_bytes()
    assert "no daemon is running" in desk.run("doctor", "--full").out
    assert desk.database.read_bytes() == before
