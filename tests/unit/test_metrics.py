"""What Prometheus is told: by a strict reader of the format, and by promtool where it is there."""

import shutil
import subprocess
from dataclasses import replace

import pytest

from sqlqd.condition import Total
from sqlqd.metrics import Facts, text
from sqlqd.model import DaemonSeen, Overview, Pause, QueueCount, WorkerSeen
from tests.support.exposition import Series, parse

NOW = 1_800_000_000.0
ODD = 'a\\"b\nc{x="y"},\\n ä'
FACTS = Facts(
    Overview(
        NOW,
        (
            QueueCount("mail", 3, 4, 1, 2, oldest_ready_at=NOW - 7.5),
            QueueCount("held", blocked_until=NOW + 9, paused_at=NOW),
            QueueCount(ODD, ready=1, oldest_ready_at=NOW + 1),
        ),
        (WorkerSeen("aa", 77, 1, 501, NOW), WorkerSeen("bb", 77, 2, 502, NOW, "f00d", "mail", NOW)),
        (DaemonSeen(77, NOW - 60.25, NOW, "1", "/etc/sqlqd.toml", 2),),
    ),
    [
        Total("mail", "done", 10**12),
        Total("mail", "failed", 5),
        Total("mail", "lost", 2),
        Total(ODD, "dead", 1),
    ],
    up=True,
    log_bytes=4096,
    file_bytes=81920,
    version="1.2.3",
    configured=("mail", "held"),
)


def told(facts: Facts, name: str) -> Series:
    return parse(text(facts))[name][1]


def labels(**named: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(named.items()))


def test_the_numbers_are_those_of_the_queue() -> None:
    jobs = told(FACTS, "sqlqd_jobs")
    assert [jobs[labels(queue="mail", state=one)] for one in ("ready", "scheduled", "running", "dead")] == [
        *(3, 4, 1, 2)
    ]
    assert told(FACTS, "sqlqd_oldest_ready_seconds") == {
        labels(queue="mail"): 7.5,
        labels(queue="held"): 0,
        labels(queue=ODD): 0,
    }
    ended = told(FACTS, "sqlqd_jobs_finished_total")
    assert ended[labels(queue="mail", outcome="done")] == 10**12
    # From the beginning, so that the first one is an increase.
    assert ended[labels(queue="held", outcome="cancelled")] == 0
    assert ended[labels(queue=ODD, outcome="dead")] == 1
    assert told(FACTS, "sqlqd_retries_total")[labels(queue="mail")] == 5
    assert told(FACTS, "sqlqd_crashes_total")[labels(queue="mail")] == 2
    assert told(FACTS, "sqlqd_queue_blocked")[labels(queue="held")] == 1
    assert told(FACTS, "sqlqd_queue_paused") == {
        labels(queue=one): one == "held" for one in ("mail", "held", ODD)
    }
    single = {
        "sqlqd_up": 1,
        "sqlqd_workers": 2,
        "sqlqd_workers_busy": 1,
        "sqlqd_wal_bytes": 4096,
        "sqlqd_database_bytes": 81920,
        "sqlqd_daemon_start_time_seconds": NOW - 60.25,
    }
    assert {name: told(FACTS, name)[()] for name in single} == single
    assert told(FACTS, "sqlqd_build_info") == {labels(version="1.2.3"): 1}


def test_a_pause_of_all_is_every_queues() -> None:
    paused = replace(FACTS, seen=replace(FACTS.seen, pause=Pause("", NOW)))
    assert set(told(paused, "sqlqd_queue_paused").values()) == {1}


def test_without_a_daemon() -> None:
    alone = replace(FACTS, seen=replace(FACTS.seen, daemons=(), workers=()), up=False)
    assert told(alone, "sqlqd_up") == {(): 0}
    assert "sqlqd_daemon_start_time_seconds" not in parse(text(alone))


def test_invented_names_are_limited_and_configured_ones_are_not() -> None:
    queues = [QueueCount(f"own{number}") for number in range(200)]
    strangers = [QueueCount(f"x{number:03}", ready=number) for number in range(200)]
    facts = replace(
        FACTS,
        seen=replace(FACTS.seen, queues=(*queues, *strangers)),
        totals=[Total(one.name, "done", 1) for one in strangers],
        configured=[one.name for one in queues],
    )
    waited = {dict(one)["queue"] for one in told(facts, "sqlqd_oldest_ready_seconds")}
    assert waited == {one.name for one in queues} | {f"x{number:03}" for number in range(150, 200)}
    assert {dict(one)["queue"] for one in told(facts, "sqlqd_retries_total")} == waited


def test_queues_that_are_no_more_keep_their_totals() -> None:
    facts = replace(FACTS, totals=[Total("gone", "done", 4)])
    assert told(facts, "sqlqd_jobs_finished_total")[labels(queue="gone", outcome="done")] == 4


def test_a_name_that_is_no_text_is_made_one() -> None:
    facts = replace(FACTS, seen=replace(FACTS.seen, queues=(QueueCount("a\udc80b", ready=1),)), totals=())
    assert labels(queue="a?b") in told(facts, "sqlqd_oldest_ready_seconds")


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool here (Debian: prometheus)")
def test_promtool_has_nothing_to_say() -> None:
    done = subprocess.run(
        ["promtool", "check", "metrics"],
        input=text(FACTS),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "text",
    [
        *("# TYPE a gauge\na 1\n", "# HELP a b\n# TYPE a gauge\nb 1\n", "# HELP a b\n# TYPE a gauge\na 1"),
        *("# HELP a b\n# TYPE a gauge\na{b=1} 1\n", '# HELP a b\n# TYPE a gauge\na{b="\\x"} 1\n'),
        *("# HELP a b\n# TYPE a counter\na 1\n", "# HELP a b\n# TYPE a gauge\na 1\na 1\n"),
    ],
)
def test_the_reader_is_strict(text: str) -> None:
    with pytest.raises((AssertionError, KeyError)):
        parse(text)
