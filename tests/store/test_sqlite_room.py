"""A file that was full gives its room back, in small steps, and keeps some for its next jobs."""

from pathlib import Path

from sqlqd.model import NewJob, Selection
from sqlqd.store.sqlite import open_store
from tests.support.clocks import TwoHands


def test_a_flood_leaves_no_large_file(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    store = open_store(path, TwoHands(), create=True)
    store.enqueue([NewJob("mail", "x" * 20_000) for _ in range(1000)])
    store.cancel(Selection(queue="mail"))
    store.checkpoint()
    full = path.stat().st_size
    assert full > 20_000_000
    steps = 0
    while store.tidy(budget=0.005):
        steps += 1
        store.checkpoint()
    store.checkpoint()
    assert steps > 1
    assert path.stat().st_size < full / 3
    assert not store.tidy()
    store.enqueue([NewJob("mail", "x" * 20_000) for _ in range(100)])
    store.close()
