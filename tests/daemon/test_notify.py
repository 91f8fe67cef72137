"""What the real parent tells systemd over a real socket: that it takes longer, and that it is alive."""

import os
import signal
import time
from collections.abc import Callable

from sqlqd import exits
from tests.support.daemon import Daemon, crew, until

Make = Callable[..., Daemon]
EXTEND = "EXTEND_TIMEOUT_USEC=5000000"
ALIVE = "WATCHDOG=1"


def test_while_it_starts_it_asks_for_more_time(standin: Make) -> None:
    daemon = standin(ready=False, prepare="wait")
    until(lambda: daemon.notices.count(EXTEND) >= 2, "it asks again")
    (daemon.home / "queue.db.go").touch()
    until(lambda: "READY=1" in daemon.notices, "it is ready")
    asked = daemon.notices.count(EXTEND)
    assert "STATUS=starting, preparing the database" in daemon.notices
    os.kill(crew(daemon)[-1], signal.SIGKILL)
    daemon.event("worker.crashed")
    assert daemon.notices.count(EXTEND) == asked


def test_while_it_drains_it_asks_for_more_time(standin: Make) -> None:
    daemon = standin(worker="stubborn", workers=1, drain=1e9)
    daemon.signal(signal.SIGTERM)
    until(lambda: daemon.notices.count(EXTEND) >= 3, "it asks again")
    assert daemon.notices.index("STOPPING=1") < len(daemon.notices)
    daemon.signal(signal.SIGINT)
    assert daemon.ended() == exits.OK


def watched(seconds: float) -> dict[str, str]:
    return {"WATCHDOG_USEC": f"{seconds * 1e6:.0f}"}


def test_signs_of_life_come_in_time_while_all_is_well(standin: Make) -> None:
    daemon = standin(env=watched(0.6))
    began, before = time.monotonic(), daemon.notices.count(ALIVE)
    until(lambda: daemon.notices.count(ALIVE) >= before + 5, "five of them")
    assert time.monotonic() - began >= 0.6


def test_without_a_steward_at_work_no_sign_of_life_is_given(standin: Make) -> None:
    daemon = standin(env=watched(0.2), steward="crash_later", steward_patience=0.5, mending=0.5)
    until(lambda: ALIVE in daemon.notices, "it lives")
    os.kill(crew(daemon)[0], signal.SIGKILL)
    assert "no steward" in daemon.event("watchdog.withheld")["reason"]
    given = daemon.notices.count(ALIVE)
    time.sleep(0.3)
    assert daemon.notices.count(ALIVE) == given
    assert daemon.stop() == exits.OK


def test_a_loop_that_stands_still_gives_no_sign_of_life(standin: Make) -> None:
    daemon = standin(env=watched(0.3))
    os.kill(daemon.pid, signal.SIGSTOP)
    given = daemon.notices.count(ALIVE)
    time.sleep(0.5)
    assert daemon.notices.count(ALIVE) == given
    os.kill(daemon.pid, signal.SIGCONT)
    until(lambda: daemon.notices.count(ALIVE) > given, "it lives again")
