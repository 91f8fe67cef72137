"""The table of events: complete, and every use of it is of an event that exists."""

import ast
import string
from pathlib import Path

from sqlqd.events import EVENTS, LEVELS
from sqlqd.log.render import as_text

SOURCES = Path(__file__).parents[2] / "sqlqd"
PUBLIC = """
daemon.ready daemon.reloaded daemon.reload_failed daemon.stopping daemon.stopped worker.started worker.exited
worker.crashed job.started job.finished job.failed job.retry job.dead job.released job.cancelled job.killed
job.timeout job.lease_lost job.output queue.paused queue.resumed queue.blocked schedule.skipped
"""


def test_every_public_event_is_there() -> None:
    assert set(PUBLIC.split()) <= EVENTS.keys()


def test_ids_are_128_bits_and_no_two_are_the_same() -> None:
    ids = [event.message_id for event in EVENTS.values()]
    assert len(set(ids)) == len(ids)
    assert all(len(one) == 32 and int(one, 16) for one in ids)


def test_a_failed_attempt_is_a_warning_and_a_dead_job_an_error() -> None:
    assert EVENTS["job.failed"].level == "warning"
    assert EVENTS["job.dead"].level == "error"
    assert {event.level for event in EVENTS.values()} <= set(LEVELS)


def test_wordings_can_be_filled_with_anything_or_nothing() -> None:
    for event in EVENTS.values():
        names = [name for _, name, _, _ in string.Formatter().parse(event.wording) if name]
        assert as_text({}, event.wording)
        assert "x" in as_text(dict.fromkeys(names, "x"), event.wording) or not names


def test_only_events_of_the_table_are_logged() -> None:
    used = set()
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "log.event":
                name = node.args[0]
                if isinstance(name, ast.Constant):
                    used.add(name.value)
    assert len(used) > 10
    assert used <= EVENTS.keys()


def test_every_event_of_the_table_is_logged() -> None:
    """By its name, or by its end behind what a process is: `f"{role}.stuck"`."""
    said = set()
    for path in SOURCES.rglob("*.py"):
        if path.name != "events.py":
            nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            said |= {node.value for node in nodes if isinstance(node, ast.Constant)}
    assert [name for name in EVENTS if not said & {name, f".{name.split('.')[1]}"}] == []
