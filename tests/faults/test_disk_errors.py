"""The disk refuses a write or a sync, each one of every verb in turn: it is said, and nothing is half.

The same store goes on afterwards, and a life in which everything failed once ends like one in which
nothing did.
"""

from pathlib import Path

import apsw
import pytest

from tests.support.lives import MANNERS, Failures, Recorded, contents, lived, without_tokens


@pytest.mark.parametrize("lasting", ["once", "lasting"])
@pytest.mark.parametrize("error", ["full", "broken"])
@pytest.mark.parametrize("manner", MANNERS)
def test_a_verb_that_fails_has_done_nothing(tmp_path: Path, manner: str, error: str, lasting: str) -> None:
    undisturbed = lived("record", manner, tmp_path / "undisturbed")
    disturbed = lived("fail", manner, tmp_path / "disturbed", error, lasting)
    assert isinstance(undisturbed, Recorded)
    assert isinstance(disturbed, Failures)
    assert disturbed.wrong == []
    assert min(disturbed.failed[verb] for verb in _ALL) >= 2
    assert sum(disturbed.failed.values()) > 200
    assert without_tokens(disturbed.contents) == without_tokens(undisturbed.contents[-1])
    path = tmp_path / "disturbed" / "queue.db"
    assert contents(path) == disturbed.contents
    connection = apsw.Connection(str(path))
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


_ALL = (
    *("create", "first enqueue", "enqueue of several", "enqueue of that one's key", "claim", "renew"),
    *("finish and claim", "retry and claim", "bury and claim", "release", "cancel", "purge"),
    *("operator's retry of a waiting one", "operator's retry of a dead one", "claim that buries"),
)
