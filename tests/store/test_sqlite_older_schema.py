"""On a file that no daemon of this version has seen: adding and looking work, changing says what to do."""

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from sqlqd.model import Conflict, NewJob, Rules, Selection
from sqlqd.store import schema
from sqlqd.store.base import Store, StoreForeign
from sqlqd.store.sqlite import open_store
from tests.support.clocks import TwoHands
from tests.support.stores import holder

OLDER = range(1, schema.NEWEST)


def older(path: Path, version: int) -> Store:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    for one in schema.migrations()[:version]:
        connection.execute(one.read_text(encoding="utf-8")).fetchall()
    connection.close()
    return open_store(path, TwoHands())


@pytest.mark.parametrize("version", OLDER)
def test_adding_and_looking_work(tmp_path: Path, version: int) -> None:
    store = older(tmp_path / "queue.db", version)
    (first, second) = store.enqueue([NewJob("mail", "x"), NewJob("mail", key="k")])
    assert not store.enqueue([NewJob("mail", key="k")])[0].created
    assert {job.id for job in store.find(Selection())} == {first.id, second.id}
    assert store.record(first.id) is not None
    assert [queue.ready for queue in store.overview([]).queues] == [2]
    store.close()


CHANGES: dict[str, Callable[[Store], object]] = {
    "claim": lambda store: store.claim(holder(), (Rules("mail"),)),
    "why": lambda store: store.circumstances("f" * 32, (Rules("mail"),)),
    "cancel": lambda store: store.cancel(Selection(queue="mail")),
    "kill": lambda store: store.kill(Selection(queue="mail")),
    "retry": lambda store: store.retry(Selection(queue="mail")),
    "purge": lambda store: store.purge(Selection(queue="mail")),
    "pause": lambda store: store.pause(["mail"]),
    "resume": lambda store: store.resume(["mail"]),
    "enqueue of a late one": lambda store: store.enqueue([NewJob("mail", expires_at=5e9)]),
    "enqueue instead of another": lambda store: store.enqueue(
        [NewJob("mail", key="k"), NewJob("mail", key="k", on_conflict=Conflict.REPLACE)]
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whoever_changes_jobs_hears_what_to_do(tmp_path: Path, change: str) -> None:
    for version in OLDER:
        path = tmp_path / f"{version}.db"
        store = older(path, version)
        with pytest.raises(StoreForeign, match="restart the daemon, which brings it up to date"):
            CHANGES[change](store)
        assert list(store.find(Selection())) == []
        store.close()
        open_store(path, TwoHands(), migrate=True).close()
        store = open_store(path, TwoHands())
        CHANGES[change](store)
        store.close()
