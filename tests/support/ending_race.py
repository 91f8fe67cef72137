"""Ends trees at random moments while they fork out of sight; prints what it could not account for.

Run as a program, in a process of its own: it becomes a subreaper and has no other children.
"""

import os
import random
import select
import sys
from pathlib import Path

from sqlqd import log, tree
from sqlqd.clock import SystemClock
from sqlqd.command import Programs
from sqlqd.config import Queue
from sqlqd.model import Claim, Ended, Holder, Job

COMMAND = "(setsid sh -c '(setsid sleep 300 &) ; setsid sleep 301 & exit 0' &) ; (sleep 302 &) ; exit 0"


def main(rounds: int, seed: int) -> int:
    """How many rounds left something behind."""
    tree.become_subreaper()
    log.setup("json", "error")
    rng, clock = random.Random(seed), SystemClock()
    programs = Programs(Path("/dev/null"), Holder("f" * 16, 1, os.getpid()), clock)
    queue = Queue(name="q", command=COMMAND, cwd=Path("/"), drain_timeout=1.0)
    claim = Claim(Job("0" * 32, "q", "", 0, 0.0, 1, None, None, 0.0, None), "t", 1, 0.0, 0.0, 0.0, 0.0)
    left = 0
    for _ in range(rounds):
        run = programs.start(claim, queue)
        end_at = clock.awake() + rng.uniform(0.0, 0.006)
        told = False
        while run.outcome is None:
            now = clock.awake()
            if now >= end_at and not told:
                told = True
                run.end(Ended.INTERRUPTED, now, at_once=True)
            due = run.step(now) if told else min(run.step(now), end_at)
            poll = select.poll()
            for fd, events in run.descriptors().items():
                poll.register(fd, events)
            poll.poll(max(0.0, (due - clock.awake()) * 1000.0) if run.outcome is None else 0)
        run.close()
        left += not tree.childless()
    return left


if __name__ == "__main__":
    sys.stdout.write(f"{main(int(sys.argv[1]), int(sys.argv[2]))}\n")
