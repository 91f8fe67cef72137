"""A transaction that reads first and writes later must not fail because others committed in between."""

from collections import Counter
from pathlib import Path

import pytest

from sqlqd.store.sqlite import open_store
from tests.support import sql
from tests.support.clocks import TwoHands
from tests.support.crowd import CONSUMER, PRODUCER, Crowd

pytestmark = pytest.mark.case("C04")

CONSUMERS = 8
PRODUCERS = 4
EACH = 250


def test_claims_and_enqueues_at_full_speed_never_meet_a_lock(tmp_path: Path) -> None:
    """A verb that let SQLITE_BUSY_SNAPSHOT through would end its process with it."""
    path = tmp_path / "queue.db"
    open_store(path, TwoHands(), create=True).close()
    crowd = Crowd(path)
    for number in range(CONSUMERS):
        crowd.add(CONSUMER, number, [["mail", None]], 0, 300, 0.0)
    for number in range(PRODUCERS):
        crowd.add(PRODUCER, "mail", f"p{number}", EACH)
    told = crowd.run()
    ran = Counter(job_id for one in told[:CONSUMERS] for job_id, _, _ in one)
    added = Counter(job_id for one in told[CONSUMERS:] for job_id in one)
    assert ran == added
    assert len(added) == PRODUCERS * EACH
    assert sql.rows(path, "SELECT count(*) FROM jobs") == [[0]]
