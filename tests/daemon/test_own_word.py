"""What a command says of itself, and what of its job stands in its arguments."""

import json
from pathlib import Path

from tests.support.daemon import Daemon, until

QUEUES = """
[queues.later]
command = '''
if [ -e {home}/asked ]; then exit 0; fi
touch {home}/asked; echo "retry-after 1" >>"$SQLQD_CONTROL"; exit 75
'''
max_attempts = 1
timeout = "1min"

[queues.far]
command = 'echo nonsense >>"$SQLQD_CONTROL"; echo "progress 40 encoding" >>"$SQLQD_CONTROL"; sleep 100'
timeout = "1min"
kill_grace = "0s"

[queues.words]
command = ["printf", "<%s>\\n", "{{payload.to}}", "{{id}}", "{{attempt}}"]
payload = "json"
timeout = "1min"
"""


def test_a_command_may_put_itself_off_at_no_cost(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES.format(home=tmp_path)) as daemon:
        daemon.start()
        job = daemon.insert("later")
        reason = daemon.event("job.released", job_id=job)["reason"]
        assert reason == "exit 75, and asked to be tried again in 1s"
        daemon.event("job.finished", job_id=job)
        assert [one["attempt"] for one in daemon.events("job.started", job_id=job)] == [1, 1]


def test_how_far_it_is_can_be_seen_while_it_runs(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES.format(home=tmp_path)) as daemon:
        daemon.start()
        job = daemon.insert("far")
        said = daemon.event("job.control_ignored", job_id=job)
        assert said["reason"] == "neither retry-after nor progress: nonsense"
        shown = until(
            lambda: json.loads(daemon.sqlqd("show", "--json", job).stdout)["progress"],
            "its progress is shown",
        )
        assert (shown["percent"], shown["text"]) == (40.0, "encoding")
        assert "40 % encoding" in daemon.sqlqd("show", job).stdout
        assert daemon.sqlqd("cancel", job).returncode == 0
        daemon.event("job.cancelled", job_id=job)


def test_parts_of_a_job_stand_in_single_arguments(tmp_path: Path) -> None:
    with Daemon(tmp_path, QUEUES.format(home=tmp_path)) as daemon:
        daemon.start()
        job = daemon.insert("words", '{"to": "$(id) a  b"}')
        daemon.event("job.finished", job_id=job)
        said = [one["line"] for one in daemon.events("job.output", job_id=job)]
        assert said == ["<$(id) a  b>", f"<{job}>", "<1>"]
        lacking = daemon.insert("words", '{"from": 1}')
        assert daemon.event("job.dead", job_id=lacking)["reason"] == (
            'the payload has no field "to", which the command needs'
        )
