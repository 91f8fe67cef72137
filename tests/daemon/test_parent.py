"""The real parent over small children: phases, respawns, what the dead leave behind."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from sqlqd import exits
from tests.support.daemon import Daemon, alive, children, crew, said, until

Make = Callable[..., Daemon]


def test_it_is_ready_once_all_work_and_says_how_it_is(standin: Make) -> None:
    daemon = standin(workers=3)
    assert len(crew(daemon)) == 4
    until(lambda: "STATUS=0 of 3 workers busy, 0 ready, 0 dead" in daemon.notices, "its status")
    assert daemon.notices.count("READY=1") == 1
    assert daemon.stop() == exits.OK
    assert "STOPPING=1" in daemon.notices


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGQUIT])
def test_it_stops_in_order(standin: Make, number: signal.Signals) -> None:
    daemon = standin()
    pids = crew(daemon)
    daemon.signal(number)
    assert daemon.ended() == exits.OK
    assert not any(alive(pid) for pid in pids)
    assert daemon.events("daemon.stopped")
    assert daemon.events("daemon.stopping", reason=number.name)


def test_the_steward_leaves_last(standin: Make) -> None:
    daemon = standin()
    daemon.stop()
    names = [record["event"] for record in daemon.events() if record["event"].endswith(".exited")]
    assert names == ["worker.exited", "worker.exited", "steward.exited"]


def test_a_second_interrupt_ends_the_wait_and_a_second_term_does_not(standin: Make) -> None:
    daemon = standin(worker="stubborn")
    daemon.signal(signal.SIGTERM)
    daemon.event("daemon.stopping")
    daemon.signal(signal.SIGTERM)
    daemon.event("signal.ignored", signal="SIGTERM")
    until(lambda: "STATUS=stopping, 2 of 2 workers still busy" in daemon.notices, "its status")
    assert daemon.running
    daemon.signal(signal.SIGINT)
    assert daemon.ended() == exits.OK


def test_whoever_ignores_every_word_is_killed_when_the_drain_is_over(standin: Make) -> None:
    daemon = standin(worker="deaf", drain=0.5)
    assert daemon.stop() == exits.OK
    assert {record["reason"] for record in daemon.events("worker.stuck")} == {"the time to stop is over"}


def test_whoever_ignores_the_order_to_end_is_killed(standin: Make) -> None:
    daemon = standin(worker="deaf", drain=1000.0)
    daemon.signal(signal.SIGINT)
    daemon.event("daemon.stopping")
    daemon.signal(signal.SIGINT)
    assert daemon.ended() == exits.OK
    assert len(daemon.events("worker.stuck")) == 2


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2])
def test_other_signals_change_nothing_and_are_said(standin: Make, number: signal.Signals) -> None:
    daemon = standin()
    pids = crew(daemon)
    daemon.signal(number)
    daemon.event("signal.ignored", signal=number.name)
    assert crew(daemon) == pids


def test_a_hang_up_stops_where_the_terminal_is_ours(standin: Make) -> None:
    daemon = standin(hangup_stops=True)
    daemon.signal(signal.SIGHUP)
    assert daemon.ended() == exits.OK


@pytest.mark.parametrize("status", [exits.FAILED, exits.IO, exits.BUSY, exits.DENIED])
def test_a_database_that_cannot_be_used_ends_it_with_its_status(standin: Make, status: int) -> None:
    daemon = standin(ready=False, prepare=status)
    assert daemon.ended() == status
    assert "READY=1" not in daemon.notices
    assert not daemon.events("daemon.ready")


@pytest.mark.parametrize("stopped", [False, True])
def test_a_stop_while_the_database_is_prepared_is_heard(standin: Make, stopped: bool) -> None:  # noqa: FBT001 - a parameter of tests
    daemon = standin(ready=False, prepare="hang")
    until(lambda: children(daemon.pid), "it prepares")
    pids = crew(daemon)
    if stopped:
        os.kill(pids[0], signal.SIGSTOP)
    assert daemon.stop() == exits.OK
    assert not any(alive(pid) for pid in pids)


@pytest.mark.parametrize("role", ["worker", "steward"])
def test_a_child_that_says_it_cannot_start_ends_a_daemon_that_never_was_ready(
    standin: Make, role: str
) -> None:
    daemon = standin(ready=False, **{role: "cannot"})
    assert daemon.ended() == exits.FAILED
    assert f"{role} cannot start" in daemon.events("daemon.failed")[0]["reason"]
    assert "READY=1" not in daemon.notices


@pytest.mark.parametrize("role", ["worker", "steward"])
def test_a_child_that_keeps_dying_at_its_start_ends_a_daemon_that_never_was_ready(
    standin: Make, role: str
) -> None:
    daemon = standin(ready=False, workers=1, **{role: "crash"})
    assert daemon.ended() == exits.FAILED
    assert len(daemon.events(f"{role}.cannot_start")) <= 3
    assert "exit status 1" in daemon.events("daemon.failed")[0]["reason"]


def test_a_child_that_can_start_no_more_is_tried_after_growing_pauses_and_few_lines(standin: Make) -> None:
    daemon = standin(worker="crash_later", workers=1)
    os.kill(crew(daemon)[1], signal.SIGKILL)
    daemon.event("worker.cannot_start", failures=4)
    pauses = {one["failures"]: one["pause_seconds"] for one in daemon.events("worker.cannot_start")}
    # The one that was killed may have lived too shortly to count as a start.
    pauses.pop(1, None)
    assert pauses == {2: 0.2, 4: 0.8}
    until(lambda: any("1 of 2 processes cannot start" in line for line in daemon.notices), "its status")
    assert daemon.stop() == exits.OK


@pytest.mark.parametrize("at", [0, 1])
def test_a_child_that_is_killed_is_replaced(standin: Make, at: int) -> None:
    daemon = standin()
    before = crew(daemon)
    os.kill(before[at], signal.SIGKILL)
    until(lambda: len(set(crew(daemon)) - set(before)) == 1, "a replacement")
    assert set(before) - set(crew(daemon)) == {before[at]}
    daemon.event("steward.crashed" if at == 0 else "worker.crashed", reason="by SIGKILL")
    assert daemon.stop() == exits.OK


def test_a_child_that_leaves_in_order_is_replaced(standin: Make) -> None:
    daemon = standin()
    before = crew(daemon)
    os.kill(before[1], signal.SIGTERM)
    until(lambda: len(set(crew(daemon)) - set(before)) == 1, "a replacement")
    assert not daemon.events("worker.crashed")


def test_what_a_dead_worker_left_is_ended_before_its_replacement_learns_of_it(standin: Make) -> None:
    daemon = standin(worker="holding", workers=1)
    ((uid, pid),) = until(lambda: said(daemon, "holds"), "it holds a lease")
    left = until(lambda: len(found := below(int(pid))) == 2 and found, "what it runs")
    os.kill(int(pid), signal.SIGKILL)
    assert until(lambda: said(daemon, "replaces"), "its replacement") == [[uid]]
    assert not any(alive(one) for one in left)


def below(pid: int) -> list[int]:
    """What runs below a process, but for what comes and goes."""
    found = [one for child in children(pid) for one in (child, *below(child))]
    return [one for one in found if comm(one) == "sh"]


def comm(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def test_what_runs_below_a_living_worker_is_left_alone_when_another_dies(standin: Make) -> None:
    daemon = standin(worker="holding", workers=2)
    holders = until(lambda: len(found := said(daemon, "holds")) == 2 and found, "both hold leases")
    first, second = (int(pid) for _, pid in holders)
    spared = until(lambda: len(found := below(second)) == 2 and found, "what the second runs")
    os.kill(first, signal.SIGKILL)
    until(lambda: said(daemon, "replaces"), "the first's replacement")
    assert all(alive(pid) for pid in spared)
    assert alive(second)


def test_a_child_from_before_the_daemon_is_left_alone(standin: Make) -> None:
    daemon = standin(before="sleep 1000 &")
    (stranger,) = [pid for pid in crew(daemon) if comm(pid) == "sleep"]
    os.kill(crew(daemon)[-1], signal.SIGKILL)
    daemon.event("worker.crashed")
    until(lambda: len(crew(daemon)) == 4, "a replacement")
    assert alive(stranger)
    daemon.stop()
    assert alive(stranger)
    os.kill(stranger, signal.SIGKILL)


def test_a_child_from_before_the_daemon_is_left_alone_however_soon_one_of_its_own_dies(standin: Make) -> None:
    env = {"SQLQD_FAULT": "parent.forked=stop@3"}
    daemon = standin(worker="working", ready=False, before="sleep 1000 &", env=env)
    until(lambda: is_stopped(daemon.pid), "it stops with all of them forked")
    (stranger,) = [pid for pid in crew(daemon) if comm(pid) == "sleep"]
    try:
        killed = crew(daemon)[-1]
        until(lambda: [str(killed)] in said(daemon, "works"), "the worker has started")
        os.kill(killed, signal.SIGKILL)
        daemon.signal(signal.SIGCONT)
        daemon.event("worker.crashed")
        until(lambda: len(crew(daemon)) == 4, "a replacement")
        assert alive(stranger)
        Path(f"{daemon.database}.go").touch()
        daemon.stop()
    finally:
        os.kill(stranger, signal.SIGKILL)


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def test_a_child_from_before_the_daemon_is_reaped_when_it_ends(standin: Make) -> None:
    daemon = standin(before="sleep 1 &")
    until(lambda: len(children(daemon.pid)) == 3, "only its own children, and no zombie")
    assert daemon.running


def test_a_stopped_worker_is_killed_with_all_it_runs_before_its_lease_ends(standin: Make) -> None:
    daemon = standin(worker="holding", workers=1, lease=2.0)
    ((_, pid),) = until(lambda: said(daemon, "holds"), "it holds a lease")
    left = below(int(pid))
    os.kill(int(pid), signal.SIGSTOP)
    record = daemon.event("worker.stuck", worker=1)
    assert record["reason"] == "it does not renew its lease"
    until(lambda: said(daemon, "replaces"), "its replacement")
    assert not any(alive(one) for one in [int(pid), *left])


def test_a_worker_that_dies_while_the_daemon_drains_is_answered_for(standin: Make) -> None:
    daemon = standin(worker="holding", workers=1)
    ((uid, pid),) = until(lambda: said(daemon, "holds"), "it holds a lease")
    daemon.signal(signal.SIGTERM)
    daemon.event("daemon.stopping")
    os.kill(int(pid), signal.SIGKILL)
    assert daemon.ended() == exits.OK
    assert said(daemon, "replaces") == [[uid]]


def test_when_it_is_killed_its_children_leave(standin: Make) -> None:
    daemon = standin()
    pids = crew(daemon)
    daemon.signal(signal.SIGKILL)
    until(lambda: not any(alive(pid) for pid in pids), "they leave", patience=5)


def test_it_holds_its_place_on_the_side_file_while_it_lives(standin: Make, tmp_path: Path) -> None:
    from sqlqd.presence import living  # noqa: PLC0415 - a process with a Presence of its own must not

    daemon = standin()
    assert living(tmp_path / "queue.db") == [daemon.pid]
    daemon.stop()
    assert living(tmp_path / "queue.db") == []
