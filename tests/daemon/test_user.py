"""Commands that run as another user than the daemon, which is root."""

import json
import os
import pwd
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.daemon import SQLQD, Daemon, alive, until
from tests.support.shell import Desk

SOMEBODY = "nobody"

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run commands as somebody else")
as_person = pytest.mark.skipif(os.geteuid() == 0, reason="root can run commands as anybody")


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory that everybody may enter, which pytest's own is not."""
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        yield Path(made)


def queue(name: str, command: str, more: str = "") -> str:
    return f"[queues.{name}]\ncommand = {command}\nuser = '{SOMEBODY}'\n{more}\n"


@as_root
def test_a_command_is_its_users_with_his_groups_and_his_environment(home: Path) -> None:
    script = 'id -u; id -ru; id -g; id -G; echo "$HOME $USER $LOGNAME $SHELL $MORE"; cat; echo $$'
    text = queue("who", json.dumps(script), 'env = { MORE = "more" }')
    with Daemon(home, text, env={"HOME": "/root", "USER": "root"}).start() as daemon:
        daemon.sqlqd("enqueue", "who", "payload\n")
        done = daemon.event("job.finished")
        lines = [record["line"] for record in daemon.events("job.output", job_id=done["job_id"])]
        started = daemon.event("job.started")
    entry = pwd.getpwnam(SOMEBODY)
    groups = os.getgrouplist(SOMEBODY, entry.pw_gid)
    assert lines[:3] == [str(entry.pw_uid), str(entry.pw_uid), str(entry.pw_gid)]
    assert sorted(int(group) for group in lines[3].split()) == sorted(groups)
    assert lines[4] == f"{entry.pw_dir} {SOMEBODY} {SOMEBODY} {entry.pw_shell} more"
    assert lines[5:] == ["payload", str(started["pid"])]


@as_root
def test_what_he_may_not_run_or_enter_is_seen_before_it_costs_an_attempt(home: Path) -> None:
    for name, mode in (("own", 0o700), ("all", 0o755)):
        (home / name).write_text("#!/bin/sh\nexit 0\n")
        (home / name).chmod(mode)
    (home / "strange").write_text("#!/nonexistent\n")
    (home / "strange").chmod(0o755)
    (home / "closed").mkdir(mode=0o700)
    (home / "closed" / "all").write_text("#!/bin/sh\n")
    (home / "closed" / "all").chmod(0o755)
    cases = {
        "array": (f'["{home}/own"]', "", f"cannot start {home}/own: permission denied"),
        "shell": (f'"{home}/own x"', "", f"cannot start {home}/own: it may not be executed"),
        "path": ('["own"]', f'env = {{ PATH = "{home}" }}', "cannot start own: permission denied"),
        "gone": ('["/nonexistent/a"]', "", "cannot start /nonexistent/a: no such file or directory"),
        "interpreter": (
            f'["{home}/strange"]',
            "",
            f"cannot start {home}/strange: the interpreter that it names is missing",
        ),
        "cwd": ('"true"', 'cwd = "closed"', f"cannot enter the directory {home}/closed: {SOMEBODY} may not"),
        "below": (f'"{home}/closed/all"', "", f"cannot start {home}/closed/all: permission denied"),
        "fine": (f'"{home}/all"', f'cwd = "{home}"', ""),
        "also": (f'["{home}/all"]', "", ""),
    }
    text = "".join(queue(name, command, more) for name, (command, more, _) in cases.items())
    with Daemon(home, text).start() as daemon:
        for name in cases:
            daemon.sqlqd("enqueue", name)
        for name, (_, _, why) in cases.items():
            if why:
                assert daemon.event("queue.blocked", queue=name)["reason"] == why
            else:
                daemon.event("job.finished", queue=name)
        warnings = json.loads(daemon.sqlqd("check", "--json").stdout)["warnings"]
        for name, (_, _, why) in cases.items():
            told = [text for text in warnings if f"queue {name}:" in text and "timeout" not in text]
            # Whose interpreter is missing, no look at the file tells.
            assert len(told) == bool(why and name != "interpreter"), (name, warnings)


@as_root
def test_whoever_starts_it_what_the_program_loader_is_told_is_for_him(home: Path) -> None:
    (home / "evil.env").write_text(
        f"LD_PRELOAD={home}/none.so\nLD_DEBUG=libs\nLD_DEBUG_OUTPUT={home}/loader\n"
    )
    with Daemon(home, queue("who", '["true"]', 'env_file = "evil.env"')).start() as daemon:
        home.chmod(0o777)
        daemon.sqlqd("enqueue", "who")
        daemon.event("job.finished")
    owners = {path.stat().st_uid for path in home.glob("loader.*")}
    assert owners == {pwd.getpwnam(SOMEBODY).pw_uid}


@as_root
@pytest.mark.parametrize("with_limits", [False, True])
def test_all_that_he_leaves_running_is_ended_with_it(home: Path, *, with_limits: bool) -> None:
    script = "setsid sleep 300 & echo $!; (trap '' TERM; exec sleep 301) & echo $!"
    limits = 'memory_max = "1G"' if with_limits else ""
    with Daemon(home, queue("loud", json.dumps(script), limits)).start() as daemon:
        daemon.sqlqd("enqueue", "loud")
        job = daemon.event("job.finished", patience=30)
        strays = [int(record["line"]) for record in daemon.events("job.output", job_id=job["job_id"])]
    assert len(strays) == 2
    assert not any(alive(pid) for pid in strays)


@as_root
def test_what_a_killed_daemon_left_of_his_is_ended_by_the_next(home: Path) -> None:
    text = queue("long", '"echo $$; exec sleep 300"', 'lease = "2s"')
    with Daemon(home, text).start() as daemon:
        daemon.sqlqd("enqueue", "long")
        left = int(daemon.event("job.output")["line"])
        for pid in (daemon.pid, daemon.worker_pids[1], daemon.worker_pids[2], daemon.steward_pid):
            os.kill(pid, 9)
        daemon.start()
        until(lambda: not alive(left), "the relic is ended")
        until(lambda: len(daemon.events("job.started")) == 2, "it runs again")


@as_root
def test_a_root_that_may_become_nobody_says_what_its_unit_keeps_from_it(home: Path) -> None:
    text = queue("who", '"true"')
    without = ("setpriv", "--bounding-set=-setuid,-setgid", "--")
    command = (*without, *SQLQD, "-c", str(home / "sqlqd.toml"), "run")
    with Daemon(home, text, command=command).start() as daemon:
        daemon.sqlqd("enqueue", "who")
        assert "CAP_SETUID" in daemon.event("queue.blocked")["reason"]


@as_root
def test_a_user_who_is_not_there_is_an_error_with_its_line(home: Path) -> None:
    text = "[queues.a]\ncommand = 'true'\nuser = 'no-such-user'\n"
    with Daemon(home, text) as daemon:
        daemon.start(ready=False)
        assert daemon.ended() == 78
        why = f'{daemon.config}:8: queue "a": user: there is no user "no-such-user" on this system'
        assert why in daemon.log
        assert why in daemon.sqlqd("check").stderr
        # Who adds jobs has nothing to do with it.
        assert daemon.sqlqd("enqueue", "a").returncode == 0


@as_person
def test_only_root_can_and_says_what_to_do(tmp_path: Path) -> None:
    other = "root"
    desk = Desk(tmp_path, f'[daemon]\ndatabase = "q.db"\n[queues.a]\ncommand = "true"\nuser = "{other}"\n')
    refused = desk.run("run")
    assert refused.code == 78
    assert f"{desk.config}:5: " in refused.err
    assert "scripts/install --root" in refused.err
    assert any("scripts/install --root" in text for text in desk.good("check", "--json").json["warnings"])
