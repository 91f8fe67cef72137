"""Rows that another program wrote past the schema's checks: everybody still sees them, and all the others."""

import pytest

from tests.support.shell import Desk
from tests.support.sql import shell

_ROWS = """
PRAGMA ignore_check_constraints = ON;
INSERT INTO jobs (id, queue, claimed_at, locked_by, locked_until, created_at, run_at, last_error)
    VALUES ('live-1', 'mail', 'soon', 'w', 'never', 'x', x'00', x'ff00');
INSERT INTO jobs (id, queue, priority, attempts, max_attempts, key, payload)
    VALUES ('live-2', 'mail', 'hi', 'many', x'aa', x'ff', x'00ff');
INSERT INTO jobs (id, queue, run_at) VALUES ('live-3', x'ff00', 9e999);
INSERT INTO jobs (id, queue, run_at, locked_by, locked_until, lost) VALUES ('live-4', 'mail', 'k', 'w', 1, 1);
INSERT INTO jobs (id, queue) VALUES ('live-5', 'mail');
INSERT INTO dead_jobs (id, queue, priority, run_at, created_at, attempts, crashes, died_at, reason, payload,
    claimed_at, max_attempts, last_error)
    VALUES ('dead-1', 'mail', 'p', 'r', 'c', 'a', 'cr', 'then', x'ff', x'ff', 'cl', 'm', x'ff'),
    ('dead-2', 'mail', 0, 1e300, 9e999, 1, 1, 1e300, 'r', '', -1e300, 1, hex(zeroblob(2000000)));
INSERT INTO done_jobs (id, queue, attempts, ended_at, outcome, duration, exit_code, keep_until)
    VALUES ('done-1', 'mail', 'x', 'y', CAST(x'ff' AS TEXT), 'z', 'q', 1e300),
    ('done-2', x'ff', 1, 1e300, 'done', 9e999, 5, 1e300);
INSERT INTO sqlqd_attempts (job_id, number, started_at, ended_at, outcome, exit_code, cpu, error, worker)
    VALUES ('live-1', 'n', 's', 'e', x'ff', 'c', 'u', x'ff', x'ff'),
    ('live-1', 'n', 5, 6, 'x', 'c', 'u', 'e', 'w'),
    ('dead-2', 1, 1e300, 9e999, 'x', 1, 1, 'e', 'w');
"""


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_every_row_is_shown_and_none_stops_a_verb(desk: Desk, more: tuple[str, ...]) -> None:
    desk.enqueue("mail")
    shell(desk.database, _ROWS)
    listed = desk.good("list", *more).out + desk.good("list", "--state", "done", *more).out
    names = [f"live-{number}" for number in range(1, 6)] + ["dead-1", "dead-2", "done-1", "done-2"]
    assert [name for name in names if name not in listed] == []
    desk.good("status", *more)
    for order in ("newest", "due", "priority"):
        ordered = desk.good("list", "--order", order, *more).out
        assert [name for name in names if name.startswith("live") and name not in ordered] == []
    for name in ("live-1", "live-2", "dead-1", "dead-2", "done-1"):
        shown = desk.good("show", name, *more).out
        assert name in shown
        assert len(shown) < 10_000
        assert desk.good("why", name, *more).out.count("\n") == 1
