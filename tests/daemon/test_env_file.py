"""Files of secrets: read at each start of a command, and shown nowhere."""

from pathlib import Path

from tests.support.daemon import Daemon, until

HUSH = "s3cr3t-hush"
QUEUES = """
[defaults]
env_file = "secrets.env"
env = { BOTH = "from env", PLAIN = "from env" }
[queues.tell]
command = 'printf "%s|" "$TOKEN" "$BOTH" "$PLAIN" "$SQLQD_QUEUE"'
[queues.quiet]
command = 'printenv TOKEN >"$OUT"'
"""


def write(home: Path, text: str) -> Path:
    path = home / "secrets.env"
    path.write_text(f"OUT={home}/out\n{text}")
    path.chmod(0o600)
    return path


def test_it_is_read_anew_for_each_command_and_wins_over_env(tmp_path: Path) -> None:
    write(tmp_path, "TOKEN='one'\nBOTH=\"from file\"\n")
    with Daemon(tmp_path, QUEUES).start() as daemon:
        for token in ("one", "two"):
            write(tmp_path, f"TOKEN={token}\nBOTH='from file'")
            daemon.sqlqd("enqueue", "tell")
            told = daemon.event("job.output", line=f"{token}|from file|from env|tell|")
            daemon.event("job.finished", job_id=told["job_id"])


def test_without_it_the_queue_is_held_and_no_job_loses_an_attempt(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES, daemon='log_level = "debug"').start() as daemon:
        daemon.sqlqd("enqueue", "quiet")
        held = daemon.event("queue.blocked")
        assert held["reason"] == f"env_file {tmp_path}/secrets.env: there is no such file"
        write(tmp_path, f"\nTOKEN='{HUSH}\nX={HUSH}")
        daemon.sqlqd("retry", "--queue", "quiet")
        unclosed = f"env_file {tmp_path}/secrets.env:3: the quote is not closed"
        daemon.event("queue.blocked", reason=unclosed)
        until(lambda: unclosed in daemon.sqlqd("status", "--json").stdout, "status says why")
        write(tmp_path, f"TOKEN={HUSH}\nPATH=/nonexistent:/usr/bin:/bin\n")
        daemon.sqlqd("retry", "--queue", "quiet")
        job = daemon.event("job.finished")
        assert job["attempt"] == 1
        assert (tmp_path / "out").read_text() == f"{HUSH}\n"
        told = [daemon.sqlqd(*words) for words in (("check",), ("check", "--json"), ("status",), ("list",))]
        told.append(daemon.sqlqd("show", str(job["job_id"])))
    assert HUSH not in "".join([daemon.log, *(one.stdout + one.stderr for one in told)])
