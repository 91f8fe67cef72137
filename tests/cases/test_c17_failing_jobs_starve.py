"""Jobs that fail and are due again at once must not keep those behind them waiting."""

from pathlib import Path

import pytest

from sqlqd.model import Done, NewJob, Retry, Rules
from sqlqd.store.sqlite import open_store
from tests.support.clocks import TwoHands
from tests.support.stores import failure, holder

pytestmark = pytest.mark.case("C17")

BAD = 20
GOOD = 100


@pytest.mark.parametrize("pause", [0.0, 0.001])
@pytest.mark.parametrize("together", [True, False], ids=["settle and claim", "settle, then claim"])
def test_the_good_ones_finish_in_bounded_time(tmp_path: Path, pause: float, *, together: bool) -> None:
    clock = TwoHands()
    store = open_store(tmp_path / "queue.db", clock, create=True)
    served = [Rules("mail", max_attempts=1000)]
    store.enqueue([NewJob("mail", "bad", max_attempts=1000)] * BAD)
    store.enqueue([NewJob("mail", "good")] * GOOD)
    claims, good = 0, 0
    taken = store.claim(holder(), served)
    while good < GOOD:
        assert taken.claim is not None
        claims += 1
        # A run takes its time, however little.
        clock.pass_by(0.01)
        bad = taken.claim.job.payload == "bad"
        good += not bad
        verdict = Retry(clock.wall() + pause, "no") if bad else Done()
        then = (holder(), served) if together else None
        settled = store.settle(taken.claim, verdict, failure() if bad else None, then=then)
        taken = settled.next if together else store.claim(holder(), served)
    # Each bad one comes once before the good ones that were there before it failed.
    assert claims == BAD + GOOD
    store.close()
