"""A command gets the payload byte for byte, as data: by its standard input and in one variable."""

import json
import sys
from pathlib import Path

import pytest

from tests.support.daemon import Daemon, until

VALUES = [
    *("$(touch pwned)", "`touch pwned`", "; touch pwned", "a'b\"c\\d", "a\nb\n", "-rf", "--help", "-", "--"),
    *("{payload}", "{0}", "%s", "$HOME", "~", "*", "", " ", "@file", "\\x41", "!!", "\t", "é 日本 🙂"),
]
TELL = """
import json, os, sys
print(json.dumps([sys.stdin.buffer.read().decode(), os.environ["SQLQD_PAYLOAD"], sys.argv[1:]]))
"""
QUEUES = f"""
[defaults]
cwd = "."
[queues.shell]
command = '{sys.executable} tell.py "$SQLQD_PAYLOAD" >> shell'
[queues.array]
command = ["{sys.executable}", "tell.py", "$SQLQD_PAYLOAD"]
"""


@pytest.mark.case("C34")
def test_every_payload_arrives_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "tell.py").write_text(TELL)
    with Daemon(tmp_path, QUEUES, workers=1) as daemon:
        daemon.start()
        jobs = [daemon.insert(queue, value) for value in VALUES for queue in ("shell", "array")]
        until(lambda: len(daemon.events("job.finished")) == len(jobs), "all are done")
        told = [json.loads(line) for line in (tmp_path / "shell").read_text().splitlines()]
        # In quotes a variable is one argument, whatever is in it; an array's words are what they are.
        assert sorted(told) == sorted([value, value, [value]] for value in VALUES)
        told = [json.loads(record["line"]) for record in daemon.events("job.output", queue="array")]
        assert sorted(told) == sorted([value, value, ["$SQLQD_PAYLOAD"]] for value in VALUES)
        assert not (tmp_path / "pwned").exists()
