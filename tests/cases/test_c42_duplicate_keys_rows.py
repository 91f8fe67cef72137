"""A payload that names a field twice, or one of ours, steers nothing and is handed over as it is."""

from pathlib import Path

import pytest

from sqlqd.model import Rules
from sqlqd.store.sqlite import open_store
from tests.support.clocks import TwoHands
from tests.support.stores import add, claim, claimed

pytestmark = pytest.mark.case("C42")

PAYLOAD = '{"queue":"safe","queue":"rm","timeout":1,"timeout":9999,"priority":100,"id":"x","run_at":9e10}'


@pytest.mark.parametrize("json", [True, False])
def test_fields_of_a_payload_are_never_read(tmp_path: Path, *, json: bool) -> None:
    clock = TwoHands()
    store = open_store(tmp_path / "queue.db", clock, create=True)
    job_id = add(store, "mail", PAYLOAD)
    assert claim(store, "safe", "rm") is None
    job = claimed(store, Rules("mail", json=json)).job
    assert (job.id, job.queue, job.payload, job.priority, job.run_at) == (
        job_id,
        "mail",
        PAYLOAD,
        0,
        clock.wall(),
    )
    store.close()
