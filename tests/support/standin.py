"""A daemon of the real parent over small children that a test describes in its environment.

`STANDIN` is a JSON object: `prepare` (an exit status, "hang", or "wait": for the file DATABASE.go), `worker`
and `steward` (the name of one of `CHILDREN`), `workers`, `drain`, `lease`, `start_patience`,
`steward_patience`, `reload_patience`, `mending`; `again`: what is different after each reload, an object
each, or text that says why it is refused. Run as `python -m tests.support.standin DATABASE`.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sqlqd import log, proc, systemd
from sqlqd.board import Cell
from sqlqd.clock import SystemClock
from sqlqd.parent import Parent, Plot, orders, plan, report
from sqlqd.parent.orders import Orders, Refused
from sqlqd.parent.plan import Limits
from sqlqd.seat import ChildExit, Role, Seat

CLOCK = SystemClock()
FOREVER = "while :; do sleep 1; done"


def _start(seat: Seat) -> proc.Wakeup:
    wakeup = proc.Wakeup()
    for number, _ in seat.replaces:
        seat.board.put(seat.slot, Cell.REPLACED, number)
    seat.board.put_time(seat.slot, Cell.BEAT, CLOCK.awake())
    seat.board.put_time(seat.slot, Cell.STARTED, CLOCK.awake())
    return wakeup


def _go() -> bool:
    return Path(f"{sys.argv[1]}.go").exists()


def _say(*words: str) -> None:
    os.write(1, f"{' '.join(words)}\n".encode())


def _serve(seat: Seat, wakeup: proc.Wakeup, leaves: frozenset[signal.Signals]) -> int:
    while True:
        ready = proc.wait([wakeup.fd, seat.parent_pidfd], CLOCK.awake() + 1, CLOCK)
        seat.board.put_time(seat.slot, Cell.BEAT, CLOCK.awake())
        if seat.parent_pidfd in ready or leaves & set(wakeup.take()):
            return 0


_LEAVE = frozenset({signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2})


def good(seat: Seat) -> int:
    """Starts, and leaves when it is told."""
    return _serve(seat, _start(seat), _LEAVE)


def stubborn(seat: Seat) -> int:
    """Runs something and leaves only when it is to end now."""
    wakeup = _start(seat)
    seat.board.put(seat.slot, Cell.BUSY, 1)
    return _serve(seat, wakeup, frozenset({signal.SIGUSR1}))


def deaf(seat: Seat) -> int:
    """Never leaves."""
    wakeup = _start(seat)
    seat.board.put(seat.slot, Cell.BUSY, 1)
    return _serve(seat, wakeup, frozenset())


def holding(seat: Seat) -> int:
    """Holds a lease that it does not renew, and runs something that left its session."""
    wakeup = _start(seat)
    if seat.replaces:
        _say("replaces", *(uid for _, uid in seat.replaces))
        return _serve(seat, wakeup, frozenset({signal.SIGTERM}))
    seat.board.put(seat.slot, Cell.BUSY, 1)
    lease = json.loads(os.environ["STANDIN"]).get("lease", 30.0)
    seat.board.put(seat.slot, Cell.LEASE, int(lease * 1e9))
    seat.board.put_time(seat.slot, Cell.LEASE_END, CLOCK.awake() + lease)
    command = ["sh", "-c", f"({FOREVER}) & {FOREVER}"]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    _say("holds", seat.uid, str(os.getpid()))
    _serve(seat, wakeup, frozenset())
    os.killpg(running.pid, signal.SIGKILL)
    return running.wait()


def cannot(_seat: Seat) -> int:
    """Says that it can never start."""
    return ChildExit.CANNOT_START


def working(seat: Seat) -> int:
    """Has a job until the file DATABASE.go is there, and leaves only after that."""
    wakeup = _start(seat)
    seat.board.put(seat.slot, Cell.BUSY, 1)
    leaving = False
    _say("works", str(os.getpid()))
    while not _go():
        if seat.parent_pidfd in proc.wait([wakeup.fd, seat.parent_pidfd], CLOCK.awake() + 0.05, CLOCK):
            return 0
        leaving = leaving or bool(_LEAVE & set(wakeup.take()))
    seat.board.put(seat.slot, Cell.BUSY, 0)
    return 0 if leaving else _serve(seat, wakeup, _LEAVE)


def crash(_seat: Seat) -> int:
    """Ends at once."""
    return 1


def crash_later(seat: Seat) -> int:
    """Starts the first time; after that, never again."""
    if seat.number > 2:
        return 1
    return good(seat)


def hang_later(seat: Seat) -> int:
    """Starts the first time; after that it never comes so far."""
    if seat.number > 2:
        proc.wait([seat.parent_pidfd], CLOCK.awake() + 60, CLOCK)
        return 1
    return good(seat)


CHILDREN: dict[str, Callable[[Seat], int]] = {
    child.__name__: child
    for child in (good, stubborn, deaf, holding, working, cannot, crash, crash_later, hang_later)
}


def _orders(how: Mapping[str, Any]) -> Orders:
    return Orders(
        children={
            Role.STEWARD: CHILDREN[how.get("steward", "good")],
            Role.WORKER: CHILDREN[how.get("worker", "good")],
        },
        workers=how.get("workers", 2),
        limits=Limits(drain=how.get("drain", 30.0), shortest_lease=how.get("lease", 30.0)),
        news=f"{how.get('workers', 2)} workers",
    )


def main() -> int:
    """Be the daemon."""
    how = json.loads(os.environ["STANDIN"])

    def prepare() -> int:
        if how.get("prepare") == "hang":
            signal.pause()
        if how.get("prepare") == "wait":
            while not _go():
                proc.wait([], CLOCK.awake() + 0.05, CLOCK)
            return 0
        return int(how.get("prepare", 0))

    def reload() -> Orders | Refused:
        change = again.pop(0)
        return Refused(change, change) if isinstance(change, str) else _orders({**how, **change})

    again = how.get("again", [{}])
    plan.START_PATIENCE = how.get("start_patience", plan.START_PATIENCE)
    plan.STEWARD_PATIENCE = how.get("steward_patience", plan.STEWARD_PATIENCE)
    orders.PATIENCE = how.get("reload_patience", orders.PATIENCE)
    report.MENDING = how.get("mending", report.MENDING)
    proc.reset_dispositions()
    log.setup("json", "debug")
    plot = Plot(
        prepare=prepare,
        orders=_orders(how),
        reload=reload,
        database=Path(sys.argv[1]),
        clock=CLOCK,
        notices=systemd.take(),
        hangup_stops=how.get("hangup_stops", False),
    )
    return Parent(plot).run()


if __name__ == "__main__":
    sys.exit(main())
