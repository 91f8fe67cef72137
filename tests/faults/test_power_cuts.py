"""The power is cut at every write and sync of every verb: what was acknowledged is there, nothing is half.

What a cut leaves is always one moment of the queue's life, as a whole: none earlier than the last one that
was acknowledged, none later than the verb that was under way.
"""

import os
from pathlib import Path

import pytest

from tests.support.cuts import check, cuts
from tests.support.lives import MANNERS, Recorded, lived
from tests.support.power import Change, Did

SEEDS = range(int(os.environ.get("SQLQD_TEST_SEEDS", "1")))
"""What survives by lot: more seeds, more lots."""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("manner", MANNERS)
def test_every_cut_leaves_one_whole_moment(memory: Path, manner: str, seed: int) -> None:
    life = lived("record", manner, memory / "life")
    assert isinstance(life, Recorded)
    checked = 0
    for cut in cuts(life, seed * 1_000_000):
        check(cut, life, memory / "after")
        checked += 1
    changes = sum(isinstance(event, Change) for event in life.events)
    assert checked > changes > 300


@pytest.mark.parametrize("manner", MANNERS)
def test_a_sync_that_failed_leaves_no_hole_below_what_is_acknowledged_later(
    memory: Path, manner: str
) -> None:
    """The kernel says once that it could not write, and takes for written what never was from then on."""
    undisturbed = lived("record", manner, memory / "undisturbed")
    assert isinstance(undisturbed, Recorded)
    checked = 0
    for number in _syncs_of_several_verbs(undisturbed):
        life = lived("record", manner, memory / f"life{number}", str(number))
        assert isinstance(life, Recorded)
        for cut in cuts(life, 0, between_verbs=True):
            check(cut, life, memory / "after")
            checked += 1
    assert checked > 100


def _syncs_of_several_verbs(life: Recorded) -> list[int]:
    """Which of the log's syncs took in what an earlier verb had written and nobody was told to be on disk."""
    found, number, pending, earlier = list[int](), 0, False, False
    for event in life.events:
        if isinstance(event, str):
            earlier = earlier or pending
        elif event.name.endswith("-wal") and event.did is Did.WRITE:
            pending = True
        elif event.name.endswith("-wal") and event.did is Did.SYNC:
            number += 1
            if earlier:
                found.append(number)
            pending = earlier = False
    return found


def test_no_job_is_in_two_tables_at_any_moment(tmp_path: Path) -> None:
    life = lived("record", MANNERS[0], tmp_path / "life")
    assert isinstance(life, Recorded)
    for moment in life.contents:
        assert moment is not None
        live = {row[0] for row in moment["jobs"]}
        dead = {row[0] for row in moment["dead_jobs"]}
        done = {row[1] for row in moment["done_jobs"]}
        assert len(live | dead | done) == len(live) + len(dead) + len(done)
        keys = [(row[1], row[2]) for row in moment["jobs"] if row[2] is not None]
        assert len(keys) == len(set(keys))
