"""How the real parent takes up new orders, over small children: who leaves, stays and comes."""

import os
import signal
from collections.abc import Callable

from sqlqd import exits
from tests.support.daemon import Daemon, alive, crew, said, until

Make = Callable[..., Daemon]


def reload(daemon: Daemon) -> list[str]:
    """SIGHUP, and what was said from it to READY."""
    before = len(daemon.notices)
    daemon.signal(signal.SIGHUP)
    until(lambda: "READY=1" in daemon.notices[before:], "it is ready again")
    return daemon.notices[before:]


def working(daemon: Daemon, number: int) -> list[int]:
    """The pids of so many workers that have a job."""
    return [
        int(pid)
        for (pid,) in until(lambda: len(said(daemon, "works")) == number and said(daemon, "works"), "work")
    ]


def let_go(daemon: Daemon) -> None:
    """Every job ends."""
    (daemon.home / "queue.db.go").touch()


def test_whoever_is_idle_is_replaced_before_it_is_ready_again(standin: Make) -> None:
    daemon = standin(workers=2, again=[{"workers": 4}])
    before = crew(daemon)
    told = reload(daemon)
    assert told[0] == "RELOADING=1"
    assert told[1].startswith("MONOTONIC_USEC=")
    assert len(crew(daemon)) == 5
    assert not set(before) & set(crew(daemon))
    assert daemon.event("daemon.reloaded")["changes"] == "4 workers"
    assert not daemon.events("worker.stuck")
    until(lambda: "STATUS=0 of 4 workers busy, 0 ready, 0 dead" in daemon.notices, "its status")
    assert daemon.stop() == exits.OK


def test_whoever_has_a_job_goes_on_and_no_more_run_than_configured(standin: Make) -> None:
    daemon = standin(workers=3, worker="working", again=[{"workers": 2, "worker": "good"}])
    old = working(daemon, 3)
    reload(daemon)
    assert set(crew(daemon)[:3]) == set(old)
    assert len(crew(daemon)) == 4
    status = "STATUS=3 of 2 workers busy, 0 ready, 0 dead, 3 still by the old configuration"
    until(lambda: status in daemon.notices, "its status")
    let_go(daemon)
    until(lambda: len(crew(daemon)) == 3 and not set(old) & set(crew(daemon)), "new ones in their place")
    assert len(daemon.events("worker.exited")) == 3
    assert not daemon.events("worker.cannot_start")


def test_free_places_are_filled_beside_those_who_have_a_job(standin: Make) -> None:
    daemon = standin(workers=1, worker="working", again=[{"workers": 3, "worker": "good"}])
    (old,) = working(daemon, 1)
    reload(daemon)
    assert len(crew(daemon)) == 4
    assert old in crew(daemon)


def test_a_worker_that_dies_in_a_place_that_is_no_more_is_answered_for(standin: Make) -> None:
    daemon = standin(workers=2, worker="holding", again=[{"workers": 1}])
    holders = until(lambda: len(found := said(daemon, "holds")) == 2 and found, "both hold leases")
    reload(daemon)
    started = {int(pid): uid for uid, pid in holders}
    for pid, uid in started.items():
        os.kill(pid, signal.SIGKILL)
        until(lambda: [uid] in said(daemon, "replaces"), "its heir")  # noqa: B023 - called before the next turn
    until(lambda: len(crew(daemon)) == 2, "a steward and one worker")


def test_a_broken_file_changes_nothing_and_is_said_until_a_good_one_comes(standin: Make) -> None:
    daemon = standin(again=["sqlqd.toml:8: unknown table", {}])
    before = crew(daemon)
    told = reload(daemon)
    assert told[0] == "RELOADING=1"
    assert told[2].startswith("STATUS=reload failed: sqlqd.toml:8: unknown table; 0 of 2 workers busy")
    assert told[3] == "READY=1"
    assert daemon.event("daemon.reload_failed")["reason"] == "sqlqd.toml:8: unknown table"
    assert crew(daemon) == before
    reload(daemon)
    until(lambda: daemon.notices[-1] == "STATUS=0 of 2 workers busy, 0 ready, 0 dead", "its status")


def test_of_several_the_last_one_holds(standin: Make) -> None:
    daemon = standin(again=[{"workers": 4}, {"workers": 1}, "broken", {"workers": 3}])
    for _ in range(4):
        before = daemon.notices.count("RELOADING=1")
        daemon.signal(signal.SIGHUP)
        until(lambda: daemon.notices.count("RELOADING=1") > before, "it has heard")  # noqa: B023 - as above
    until(
        lambda: daemon.notices[-1] != "RELOADING=1" and daemon.events("daemon.reloaded", changes="3 workers"),
        "the last",
    )
    assert len(crew(daemon)) == 4
    assert len([one for one in daemon.events("daemon.reloaded") if "workers" in one["changes"]]) == 3
    assert daemon.stop() == exits.OK


def test_one_that_comes_while_it_starts_is_done_once_it_has(standin: Make) -> None:
    daemon = standin(ready=False, prepare="wait", again=[{"workers": 1}])
    until(lambda: crew(daemon), "it prepares")
    daemon.signal(signal.SIGHUP)
    until(lambda: "STATUS=starting, preparing the database" in daemon.notices, "its status")
    let_go(daemon)
    daemon.event("daemon.reloaded", changes="1 workers")
    until(lambda: daemon.notices.count("READY=1") == 2, "ready twice")
    assert [line for line in daemon.notices if line in ("READY=1", "RELOADING=1")] == [
        "READY=1",
        "RELOADING=1",
        "READY=1",
    ]


def test_one_that_gets_nowhere_is_over_in_time_and_a_stop_is_heard_all_along(standin: Make) -> None:
    daemon = standin(
        workers=1, reload_patience=0.3, again=[{"worker": "hang_later"}, {"reload_patience": 60}]
    )
    reload(daemon)
    assert daemon.event("daemon.reloaded")["changes"] == "1 workers; not all have started yet"
    daemon.signal(signal.SIGHUP)
    assert daemon.stop() == exits.OK
    assert daemon.notices[-1] != "READY=1"


def test_a_stop_is_for_those_of_the_old_orders_too(standin: Make) -> None:
    daemon = standin(workers=1, worker="stubborn", drain=0.3, again=[{"worker": "good", "drain": 0.1}])
    reload(daemon)
    (pid,) = [one for one in crew(daemon) if one in crew(daemon)[:1]]
    assert daemon.stop() == exits.OK
    assert not alive(pid)
    assert [one["reason"] for one in daemon.events("worker.stuck")] == ["the time to stop is over"]
