"""A NUL in a row that got past the schema is the job's fault alone: dead at once, and the worker lives."""

import json
from pathlib import Path

import pytest

from tests.support.lone_worker import LoneWorker

QUEUES = """
[queues.noop]
command = "cat"
[queues.checked]
command = "cat"
payload = "json"
"""


@pytest.mark.case("C38")
@pytest.mark.parametrize("column", ["payload", "key"])
def test_a_row_with_a_nul_is_dead_with_the_reason(tmp_path: Path, column: str) -> None:
    worker = LoneWorker(tmp_path, QUEUES)
    job = worker.add("noop")
    worker.sql(f"UPDATE jobs SET {column} = 'a' || char(0) || 'b' WHERE id = ?", job, checked=False)
    with worker:
        assert "NUL" in worker.event("job.dead", job)["reason"]
        assert not worker.events("job.started", job)
        worker.event("job.finished", worker.add("noop"))
    assert b"\0" not in worker.text()


@pytest.mark.case("C38")
def test_a_nul_spelled_in_json_is_text_like_any_other(tmp_path: Path) -> None:
    payload = json.dumps({"a": "x\0y"})
    with LoneWorker(tmp_path, QUEUES) as worker:
        job = worker.add("checked", payload)
        worker.event("job.finished", job)
        assert worker.events("job.output", job)[0]["line"] == payload
