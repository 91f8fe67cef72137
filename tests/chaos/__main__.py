"""Chaos: a real daemon under load whose processes are killed at random. Started by ./scripts/chaos."""

import argparse
import os
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos import processes, verdict
from tests.chaos.daemon import Daemon
from tests.chaos.load import Producers
from tests.chaos.verdict import End, Kill

DRAIN = 90.0
"""Seconds that what is left when the load ends may take."""


def reap(daemon: Daemon, chance: random.Random, *, seconds: float, parent: bool) -> list[Kill]:
    """Kill the daemon's processes at random moments, for so long."""
    kills: list[Kill] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(chance.uniform(0.05, 0.8))
        if parent and chance.random() < 0.15:
            kills.append(Kill(daemon.pid, "parent", time.monotonic()))
            daemon.crash()
            time.sleep(chance.uniform(0.0, 0.5))
            daemon.start()
        elif children := processes.forks(daemon.pid):
            # Mostly those at work: to kill one that waits proves little.
            busy = [child for child in children if processes.children(child)]
            victim = chance.choice(sorted(busy if busy and chance.random() < 0.8 else children))
            kills.append(Kill(victim, "child", time.monotonic()))
            os.kill(victim, signal.SIGKILL)
    return kills


def report(acknowledged: dict[str, str], journal: list[verdict.Line], kills: list[Kill]) -> str:
    """What happened, in three lines."""
    times = sorted(verdict.recoveries(kills, journal))
    parents = sum(kill.role == "parent" for kill in kills)
    executions, again = sum(line.what == "begin" for line in journal), verdict.reruns(journal)
    lines = [
        f"kills: {len(kills) - parents} of workers and steward, {parents} of the parent",
        f"jobs: {len(acknowledged)} acknowledged, {executions} executions ({again} re-runs and retries)",
        f"recovery: {len(times)} jobs lost their worker at work",
    ]
    if times:
        median, worst = statistics.median(times) * 1000, times[-1] * 1000
        lines[-1] += f" and began again after {median:.0f} ms (median), {worst:.0f} ms (worst)"
    return "\n".join(lines)


def run(home: Path, seed: str, *, seconds: float, parent: bool) -> list[str]:
    """One whole run; the promises that were broken."""
    daemon = Daemon(home)
    producers = Producers(home, seed)
    found: list[str] = []
    try:
        daemon.start()
        producers.start()
        kills = reap(daemon, random.Random(seed), seconds=seconds, parent=parent)
        found += producers.stop()
        found += daemon.drain(DRAIN)
        status = daemon.stop()
    finally:
        producers.abandon()
        daemon.abandon()
    journal = verdict.parse((home / "journal").read_text(encoding="ascii"))
    acknowledged = producers.acknowledged()
    end = End(*daemon.remains(), processes=tuple(processes.marked(daemon.mark)), exit_status=status)
    print(report(acknowledged, journal, kills), flush=True)
    return found + verdict.violations(acknowledged, journal, end)


def main() -> None:
    """Read the arguments, run, and exit 1 with the seed on a violation."""
    parser = argparse.ArgumentParser(prog="./scripts/chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to kill (default: %(default)s)")
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10**6)), help="default: random")
    parser.add_argument(
        "--parent", action="store_true", help="kill the parent too, and start the daemon again"
    )
    wanted = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="sqlqd-chaos."))
    print(f"seed {wanted.seed}, {wanted.seconds:.0f} seconds", flush=True)
    found = run(home, wanted.seed, seconds=wanted.seconds, parent=wanted.parent)
    if found:
        print(*found, sep="\n")
        sys.exit(f"{len(found)} promises broken with seed {wanted.seed}; everything is in {home}")
    shutil.rmtree(home)
    print("nothing lost, nothing twice at once, nothing left behind")


if __name__ == "__main__":
    main()
