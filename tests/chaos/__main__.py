"""Chaos: real daemons under load, with everything done to them that a machine can. By ./scripts/chaos."""

import argparse
import json
import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.chaos import processes, remains, verdict
from tests.chaos.backlog import Backlog
from tests.chaos.daemon import Daemon
from tests.chaos.ground import Ground, go_private
from tests.chaos.harms import Harms
from tests.chaos.load import Producers
from tests.chaos.verdict import Line

DRAIN = 180.0
"""Seconds that what is left when the load ends may take; a steward that stands still is noticed after 60."""

BACKLOG = 300
"""Jobs that wait, above which producers pause."""

LARGEST_LOG = 96 << 20
"""Bytes of the write-ahead log: what a minute without a steward may come to."""

LARGEST_LOG_LEFT = 5 << 20
"""Bytes of it once all is quiet: it is cut where it is longer than 4 MiB."""

LEAVE = 15.0
"""Seconds that what was started may take to be gone after the daemons."""


@dataclass(slots=True)
class Figures:
    """What a run came to."""

    seed: str
    seconds: float
    harms: dict[str, int] = field(default_factory=dict)
    kills: int = 0
    acknowledged: int = 0
    jobs: int = 0
    executions: int = 0
    reruns: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    recoveries: int = 0
    median: float = 0.0
    worst: float = 0.0
    log_peak: int = 0
    drained_in: float = 0.0
    own_disk: bool = False

    def lines(self) -> Iterator[str]:
        """For people."""
        yield "harms: " + ", ".join(f"{count} {name}" for name, count in sorted(self.harms.items()))
        if not self.own_disk:
            yield "the disk was not filled: only root may give the database one of its own"
        yield (
            f"jobs: {self.acknowledged} acknowledged, {self.jobs} ended, {self.executions} executions "
            f"({self.reruns} re-runs and retries), refused {self.refused}"
        )
        yield (
            f"recovery: {self.recoveries} jobs whose worker was killed at work began again after "
            f"{self.median * 1000:.0f} ms (median), {self.worst * 1000:.0f} ms (worst)"
        )
        yield f"log: {self.log_peak / 1e6:.1f} MB at its largest; drained in {self.drained_in:.1f} s"


class Run:
    """One whole run."""

    def __init__(self, ground: Ground, seed: str) -> None:
        """Nothing runs yet."""
        self._ground = ground
        self._daemons = (Daemon(ground, "first", workers=6), Daemon(ground, "second", workers=3))
        self._producers = Producers(ground, seed)
        self._chance = random.Random(seed)
        self._harms = Harms(ground, self._daemons, self._producers, self._chance)
        self._backlog = Backlog(ground)
        self._found: list[str] = []
        self._log_peak = 0

    def go(self, figures: Figures) -> list[str]:
        """From the first start to the last look; the promises that were broken."""
        try:
            self._daemons[0].start()
            self._wait_until_ready()
            self._harm(figures.seconds)
            self._found += self._producers.stop()
            self._harms.end()
            figures.drained_in = self._drain()
            self._stop()
        except BaseException:
            self._producers.abandon()
            for daemon in self._daemons:
                daemon.abandon()
            for one in processes.marked(self._ground.mark):
                one.signal(signal.SIGKILL)
            raise
        self._judge(figures)
        return self._found

    def _wait_until_ready(self) -> None:
        end = time.monotonic() + 20.0
        while not self._daemons[0].ready:
            if time.monotonic() > end:
                raise RuntimeError(f"the daemon does not start: see {self._ground.home}")
            time.sleep(0.05)

    def _harm(self, seconds: float) -> None:
        now = time.monotonic()
        end, next_harm = now + seconds, now + 1.0
        while now < end:
            if now >= next_harm:
                self._harms.one()
                next_harm = now + self._chance.uniform(0.05, 1.0)
            self._look()
            self._found += self._producers.look()
            self._hold_back()
            time.sleep(0.02)
            now = time.monotonic()

    def _look(self) -> None:
        self._harms.look()
        for daemon in self._daemons:
            self._found += daemon.look(self._harms.excused())
        self._log_peak = max(self._log_peak, self._ground.log_size())

    def _hold_back(self) -> None:
        """Let producers pause while more waits than is of use."""
        if self._backlog.count() > BACKLOG:
            self._ground.hold.touch()
        else:
            self._ground.hold.unlink(missing_ok=True)

    def _drain(self) -> float:
        """Until no job is left, and no long log; how long that took."""
        begun = now = time.monotonic()
        next_count = begun
        wrong = ["not looked at yet"]
        while wrong and now < begun + DRAIN:
            self._look()
            now = time.monotonic()
            if now >= next_count:
                wrong = self._left()
                next_count = now + 0.5
            time.sleep(0.05)
        self._found += (f"{what} {DRAIN:.0f} seconds after the last harm" for what in wrong)
        return now - begun

    def _left(self) -> list[str]:
        live, log = remains.live(self._ground.database), self._ground.log_size()
        jobs = [f"{live} jobs have not ended"] if live else []
        return jobs + ([f"the log has {log} bytes"] if log > LARGEST_LOG_LEFT else [])

    def _stop(self) -> None:
        for daemon in self._daemons:
            daemon.stop(for_good=True)
        while any(daemon.running for daemon in self._daemons):
            self._look()
            time.sleep(0.05)
        self._look()

    def _judge(self, figures: Figures) -> None:
        ground = self._ground
        left = self._left_behind()
        if self._log_peak > LARGEST_LOG:
            self._found.append(f"the log grew to {self._log_peak} bytes")
        journal = verdict.parse(ground.journal.read_text("ascii"))
        acknowledged = self._producers.acknowledged()
        rolled_back = ground.rolled_back.read_text("ascii").split()
        end = remains.read(ground.database, left)
        self._found += verdict.violations(acknowledged, rolled_back, journal, end)
        self._report(figures, acknowledged, journal, end)

    def _left_behind(self) -> tuple[str, ...]:
        end = time.monotonic() + LEAVE
        while (left := processes.marked(self._ground.mark)) and time.monotonic() < end:
            time.sleep(0.1)
        return tuple(processes.words(one) for one in left)

    def _report(
        self, figures: Figures, acknowledged: dict[str, str], journal: list[Line], end: verdict.End
    ) -> None:
        times = sorted(verdict.recoveries(self._harms.kills, journal))
        figures.harms = dict(self._harms.done)
        figures.kills = len(self._harms.kills)
        figures.acknowledged = len(acknowledged)
        figures.jobs = len(end.kinds)
        figures.executions = sum(line.what == "begin" for line in journal)
        figures.reruns = verdict.reruns(journal)
        figures.refused = dict(self._producers.refusals())
        figures.recoveries = len(times)
        figures.median, figures.worst = (statistics.median(times), times[-1]) if times else (0.0, 0.0)
        figures.log_peak = self._log_peak
        figures.own_disk = self._ground.is_small
        print(*figures.lines(), sep="\n", flush=True)


def _end_early(*_: object) -> None:
    """Whoever ends it early finds nothing left behind either, however often they ask."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit("ended early")


def main() -> None:
    """Read the arguments, run, and exit 1 with the seed on a violation."""
    parser = argparse.ArgumentParser(prog="./scripts/chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to harm (default: %(default)s)")
    parser.add_argument("--seed", default=str(random.SystemRandom().randrange(10**6)), help="default: random")
    parser.add_argument("--record", type=Path, metavar="FILE", help="add the figures to it as a JSON line")
    parser.add_argument("--keep", action="store_true", help="keep what a good run leaves, too")
    wanted = parser.parse_args()
    go_private(["-m", "tests.chaos", *sys.argv[1:], "--seed", wanted.seed])
    print(f"seed {wanted.seed}, {wanted.seconds:.0f} seconds", flush=True)
    signal.signal(signal.SIGTERM, _end_early)
    ground = Ground(Path(tempfile.mkdtemp(prefix="sqlqd-chaos.")))
    ground.make()
    figures = Figures(wanted.seed, wanted.seconds)
    found = Run(ground, wanted.seed).go(figures)
    if wanted.record:
        with wanted.record.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**asdict(figures), "ok": not found, "found": found[:20]}) + "\n")
    if found:
        ground.keep_evidence()
        print(*found, sep="\n")
        sys.exit(f"{len(found)} promises broken with seed {wanted.seed}; everything is in {ground.home}")
    if wanted.keep:
        ground.keep_evidence()
        print(f"everything is in {ground.home}")
    else:
        ground.clear()
    print("nothing lost, nothing twice at once, nothing left behind")


if __name__ == "__main__":
    main()
