"""What the journal has of a service: a job's whole story in fields of its own."""

from tests.support.service import Service

THIRD_TIME = """
[queues.third]
command = 'echo "try $SQLQD_ATTEMPT"; echo "to stderr" >&2; [ "$SQLQD_ATTEMPT" -eq 3 ] || exit 7'
backoff = { initial = "50ms", factor = 1.0, jitter = 0.0 }
timeout = "1min"
"""
ATTEMPT = ["job.started", "job.output", "job.output"]


def test_a_job_that_failed_twice_and_then_succeeded_is_told_whole(service: Service) -> None:
    service.start(THIRD_TIME)
    job = service.enqueue("third")
    service.record("job.finished", job_id=job)
    story = service.machine.journal(f"SQLQD_JOB_ID={job}")
    failed = [*ATTEMPT, "job.failed", "job.retry"]
    assert [record["SQLQD_EVENT"] for record in story] == [*failed, *failed, *ATTEMPT, "job.finished"]
    assert {record["SQLQD_QUEUE"] for record in story} == {"third"}
    assert [record["SQLQD_ATTEMPT"] for record in story] == ["1"] * 5 + ["2"] * 5 + ["3"] * 4
    assert [record["SQLQD_EXIT_CODE"] for record in story if record["SQLQD_EVENT"] == "job.failed"] == [
        "7",
        "7",
    ]
    assert {record["SYSLOG_IDENTIFIER"] for record in story} == {"sqlqd"}
    assert {record["_SYSTEMD_UNIT"] for record in story} == {service.unit}


def test_levels_are_the_journals_own(service: Service) -> None:
    service.start(THIRD_TIME + "max_attempts = 1\n")
    job = service.enqueue("third")
    service.record("job.dead", job_id=job)
    levels = {
        (record["SQLQD_EVENT"], record.get("SQLQD_STREAM", "")): record["PRIORITY"]
        for record in service.entries(f"SQLQD_JOB_ID={job}")
    }
    assert levels == {
        ("job.started", ""): "6",
        ("job.output", "stdout"): "6",
        ("job.output", "stderr"): "5",
        ("job.failed", ""): "4",
        ("job.dead", ""): "3",
    }
    ids = {
        record["SQLQD_EVENT"]: record["MESSAGE_ID"] for record in service.entries() if "SQLQD_EVENT" in record
    }
    assert len(set(ids.values())) == len(ids)


def test_a_person_reads_a_jobs_story_by_its_id(service: Service) -> None:
    service.start(THIRD_TIME)
    job = service.enqueue("third")
    waited = service.sqlqd("wait", job, "--timeout", "30s")
    assert waited.returncode == 0
    service.record("job.finished", job_id=job)
    told = service.sqlqd("logs", job[:12])
    assert told.returncode == 0
    messages = [line.split("  ", 1)[1] for line in told.stdout.splitlines()]
    assert messages[0] == f"third {job[:8]} started, attempt 1"
    assert f"third {job[:8]} | try 3" in messages
    assert messages[-1].startswith(f"third {job[:8]} done in ")
    followed = service.sqlqd("logs", "--follow", job)
    assert followed.stdout == told.stdout
    # A member of the group reads the queue; the journal is for other groups.
    member = service.sqlqd("logs", job, user="alice")
    assert member.returncode == 0
    assert "groups systemd-journal and adm may" in member.stderr
