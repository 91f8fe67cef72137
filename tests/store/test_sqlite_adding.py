"""What many jobs at once cost, counted: whoever else writes waits for it."""

from collections import Counter
from pathlib import Path

import apsw
import pytest

from sqlqd.model import NewJob
from sqlqd.store import database, pace
from sqlqd.store.adding import fresh_ids
from sqlqd.store.entry import Entry
from sqlqd.store.sqlite import open_store
from tests.support.clocks import TwoHands
from tests.support.power import Change, Did
from tests.support.vfs import Files

MANY = 1000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A queue in which many jobs wait."""
    path = tmp_path / "queue.db"
    store = open_store(path, TwoHands(), create=True)
    for _ in range(20):
        store.enqueue([NewJob("mail", "some payload")] * MANY)
    store.close()
    return path


def test_jobs_that_are_added_together_share_their_pages(path: Path) -> None:
    written: Counter[str] = Counter()
    syncs: Counter[str] = Counter()

    def before(change: Change) -> None:
        if change.did is Did.SYNC:
            syncs[change.name[-4:]] += 1
        elif change.did is Did.WRITE and len(change.data) > 24:
            written[change.name[-4:]] += 1

    files = Files("counted", before)
    try:
        store = open_store(path, TwoHands(), create=True)
        written.clear()
        syncs.clear()
        store.enqueue([NewJob("mail", "some payload")] * MANY)
        assert syncs["-wal"] <= 2  # the second with the log's first transaction
        # About a hundred bytes a row, and as many in its indexes.
        assert written["-wal"] < MANY / 10
        store.close()
    finally:
        files.unregister()


def test_what_waits_is_counted_once_for_all_of_them(path: Path) -> None:
    heard: Counter[str] = Counter()
    apsw.connection_hooks.append(
        lambda opened: opened.trace_v2(
            apsw.SQLITE_TRACE_STMT, lambda event: heard.update([event["sql"].split()[0]])
        )
    )
    try:
        store = open_store(path, TwoHands(), create=True)
    finally:
        apsw.connection_hooks.pop()
    heard.clear()
    store.enqueue([NewJob("mail", max_waiting=1_000_000)] * MANY)
    assert heard == {"BEGIN": 1, "PRAGMA": 1, "SELECT": 1, "INSERT": MANY, "COMMIT": 1}
    store.close()


def test_who_adds_and_adds_gives_way_before_others_have_waited_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = TwoHands()
    pauses: list[float] = []
    monkeypatch.setattr(database, "pause", pauses.append)
    entry = Entry(tmp_path / "queue.db", clock, busy_timeout=5.0)
    for turns in (0, 1, 2):
        assert len(pauses) == turns
        for _ in range(3):
            entry.enqueue([NewJob("mail")])
            clock.pass_by(0.008)
            entry.give_way()
    # However long one of ours that waits looks away, it looks meanwhile.
    assert min(pauses) > pace.LONGEST
    entry.close()


def test_a_thousand_ids_begin_alike_and_no_two_by_more_than_that() -> None:
    source = fresh_ids()
    first, second = [next(source) for _ in range(MANY)], [next(source) for _ in range(MANY)]
    assert {len(one) for one in (*first, *second)} == {32}
    assert len({one[:2] for one in first}) == len({one[:2] for one in second}) == 1
    assert len({one[2:] for one in (*first, *second)}) == 2 * MANY
