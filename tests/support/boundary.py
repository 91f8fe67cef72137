"""Runs commands that end just when their timeout comes, and watches every signal that is sent by number.

Run as a program, in a process of its own. It prints, as JSON, how the runs ended and which signals went to
a number that was not, or no longer, a child of this process or its group.
"""

import json
import os
import random
import select
import signal
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlqd import log, tree
from sqlqd.clock import SystemClock
from sqlqd.command import Programs
from sqlqd.config import Queue
from sqlqd.model import Claim, Holder, Job

TIMEOUT = 0.03
COMMANDS = (
    "exec sleep {seconds}",
    "sleep {seconds}",
    "sleep {seconds} & wait",
    "(setsid sleep 300 &) ; sleep {seconds}",
    "sleep 300 & exec sleep {seconds}",
)

strays: list[str] = []
sent: Counter[str] = Counter()


def watched(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """The same call, which first looks whose number it is given."""

    def look(number: int, *more: Any) -> Any:
        sent[name] += 1
        seen = tree.process(number)
        if seen is None or seen.parent != os.getpid():
            strays.append(f"{name}({number})")
        return call(number, *more)

    return look


def run(programs: Programs, clock: SystemClock, rng: random.Random) -> str:
    """One command from its start to its end: how it ended."""
    seconds = TIMEOUT + rng.uniform(-0.015, 0.01)
    command = rng.choice(COMMANDS).format(seconds=f"{seconds:.4f}")
    queue = Queue(
        name="q", command=command, cwd=Path("/"), drain_timeout=1.0, timeout=TIMEOUT, kill_grace=0.01
    )
    claim = Claim(Job("0" * 32, "q", "", 0, 0.0, 1, None, None, 0.0, None), "t", 1, 0.0, 0.0, 0.0, 0.0)
    started = programs.start(claim, queue)
    while started.outcome is None:
        due = started.step(clock.awake())
        if started.outcome is None:
            poll = select.poll()
            for fd, events in started.descriptors().items():
                poll.register(fd, events)
            poll.poll(max(0.0, due - clock.awake()) * 1000.0)
    started.close()
    assert tree.childless()
    return started.outcome.how.value


def main(runs: int, seed: int) -> None:
    """Do it so often."""
    tree.become_subreaper()
    log.setup("json", "error")
    for name in ("kill", "killpg"):
        setattr(os, name, watched(name, getattr(os, name)))
    clock, rng = SystemClock(), random.Random(seed)
    programs = Programs(Path("/dev/null"), Holder("f" * 16, 1, os.getpid()), clock)
    ends = Counter(run(programs, clock, rng) for _ in range(runs))
    # The last run's number is free by now: the watch must see that, or it would see nothing.
    last = programs.start(
        Claim(Job("0" * 32, "q", "", 0, 0.0, 1, None, None, 0.0, None), "t", 1, 0.0, 0.0, 0.0, 0.0),
        Queue(name="q", command=":", cwd=Path("/"), drain_timeout=1.0),
    )
    while last.outcome is None:
        last.step(clock.awake())
    found = list(strays)
    with suppress(ProcessLookupError):
        os.killpg(last.pid or 0, signal.SIGTERM)
    noticed = len(strays) - len(found)
    sys.stdout.write(json.dumps({"ends": ends, "sent": sent, "strays": found, "noticed": noticed}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
