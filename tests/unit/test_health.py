"""What is well and what is not, for probes."""

from sqlqd.health import ailments
from sqlqd.model import Overview, Pause, QueueCount
from sqlqd.troubles import Trouble

NOW = 1_800_000_000.0
MAIL = QueueCount("mail", ready=2, dead=3, oldest_ready_at=NOW - 90)


def seen(*queues: QueueCount, pause: Pause | None = None) -> Overview:
    return Overview(NOW, queues, (), (), pause)


def test_only_what_is_grave_is_an_ailment() -> None:
    troubles = (Trouble("it burns", "put it out", grave=True), Trouble("2 dead jobs", "look", grave=False))
    assert ailments(seen(MAIL), troubles, max_wait=None, max_dead=None) == ("it burns; put it out",)
    assert ailments(seen(MAIL), troubles[1:], max_wait=None, max_dead=None) == ()


def test_limits_are_what_may_be() -> None:
    assert ailments(seen(MAIL), (), max_wait=90.0, max_dead=3) == ()
    assert ailments(seen(MAIL), (), max_wait=89.0, max_dead=2) == (
        "mail has had a job ready for 1min 30s, more than 1min 29s",
        "3 jobs are dead, more than 2",
    )


def test_what_is_paused_may_wait() -> None:
    paused = QueueCount("mail", ready=2, oldest_ready_at=NOW - 90, paused_at=NOW)
    assert ailments(seen(paused), (), max_wait=1.0, max_dead=None) == ()
    assert ailments(seen(MAIL, pause=Pause("", NOW)), (), max_wait=1.0, max_dead=None) == ()
