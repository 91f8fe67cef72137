"""What a daemon costs and how fast it is: throughput, pick-up, idling, memory."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import apsw

from tests.bench import peers
from tests.bench.rows import Row, compared, in_turns, percentile
from tests.support.daemon import Daemon, children, until

_TRUE = '[queues.true]\ncommand = "true"\ntimeout = "1min"\n'
_STAMP = """
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
int main(int count, char **words) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int file = open(words[1], O_WRONLY | O_APPEND | O_CREAT, 0600);
    return dprintf(file, "%ld.%09ld\\n", (long)now.tv_sec, now.tv_nsec) < 0;
}
"""


@contextmanager
def daemon(queues: str, workers: int) -> Iterator[Daemon]:
    """One that is ready."""
    with (
        tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder,
        Daemon(Path(folder), queues, workers=workers) as made,
    ):
        yield made.start()


def rate(workers: int, jobs: int) -> float:
    """Jobs a second that a daemon gets through, from a full queue to an empty one."""
    with daemon(_TRUE, workers) as made:
        made.sqlqd("pause", "--all")
        connection = apsw.Connection(str(made.database))
        with connection:
            connection.execute(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
                "INSERT INTO jobs (queue) SELECT 'true' FROM n",
                (jobs,),
            ).fetchall()
        start = time.perf_counter()
        connection.execute("DELETE FROM sqlqd_queues").fetchall()
        left = "SELECT EXISTS (SELECT 1 FROM jobs)"
        peers.soon(lambda: not connection.execute(left).fetchall()[0][0], "the queue is empty")
        elapsed = time.perf_counter() - start
        connection.close()
        # A record follows its commit. Whatever did not end well has another one, and is missed here.
        made.stop()
        peers.expect("sqlqd", len(made.events("job.finished")), jobs)
    return jobs / elapsed


def throughput(rounds: int, jobs: int) -> list[Row]:
    """Two workers against each peer with two at a time, and eight against two."""
    others = [peer for peer in peers.ALL if peer.there()]
    measures = [partial(peer.rate, min(jobs, peer.most or jobs), 2) for peer in others]
    two, eight, *found = in_turns(rounds, lambda: rate(2, jobs), lambda: rate(8, jobs), *measures)
    rows = [
        compared(
            "jobs a second, `true`, 2 workers (commits at NORMAL)",
            "/s",
            two,
            peer.title,
            values,
            goal=0.80 if peer.name == "xargs" else None,
            more=True,
        )
        for peer, values in zip(others, found, strict=True)
    ]
    return [*rows, compared("the same, 8 workers", "/s", eight, "2 workers", two, goal=1.3, more=True)]


WORKERS = (1, 2, 4, 8, 16)


def by_workers(rounds: int, jobs: int) -> list[Row]:
    """Throughput by the number of workers, and xargs with as many at a time."""
    ours = [partial(rate, workers, jobs) for workers in WORKERS]
    theirs = [partial(peers.xargs, jobs, workers) for workers in WORKERS]
    found = in_turns(rounds, *(measure for pair in zip(ours, theirs, strict=True) for measure in pair))
    return [
        compared(f"workers: {workers}", "/s", mine, f"xargs -P{workers}", other, goal=None, more=True)
        for workers, mine, other in zip(WORKERS, found[::2], found[1::2], strict=True)
    ]


def pickup(jobs: int) -> list[Row]:
    """From a commit by another program to the command's first instruction; and how late a delayed job is."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return []
    with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
        program, stamps = Path(folder) / "stamp", Path(folder) / "stamps"
        source = program.with_suffix(".c")
        source.write_text(_STAMP)
        subprocess.run([compiler, "-O1", "-o", program, source], check=True)
        stamps.touch()
        queue = f'[queues.stamp]\ncommand = ["{program}", "{stamps}"]\ntimeout = "1min"\n'
        plain: list[float] = []
        spooled: list[float] = []
        with daemon(queue, 4) as made:
            _stamped(made, stamps, 3, delay=None)
            # Ten at a time by turns, so that both meet the same machine.
            for _ in range(max(1, jobs // 10)):
                plain += _stamped(made, stamps, 10, delay=None)
                if shutil.which("tsp"):
                    spooled += _spooled(Path(folder), program, stamps, 10)
            late = _stamped(made, stamps, max(5, jobs // 5), delay=0.35)
    half, most = percentile(plain, 0.5), percentile(plain, 0.99)
    name = "pick-up after a plain INSERT"
    row = Row(f"{name}, p50", half, "ms", goal=3.0, samples=tuple(plain))
    if spooled:
        other = percentile(spooled, 0.5)
        row = replace(
            row, against="task-spooler, from its call", reference=other, ratio=half / other, of_value=True
        )
    return [
        row,
        Row(f"{name}, p99", most, "ms", goal=10.0),
        Row("a delayed job's lateness, p99", percentile(late, 0.99), "ms", goal=10.0),
    ]


def _spooled(folder: Path, program: Path, stamps: Path, jobs: int) -> list[float]:
    """Milliseconds from the call of task-spooler's client, which returns once the job is there."""
    found = []
    with peers.Spooler(folder, 4) as spooler:
        for _ in range(jobs):
            time.sleep(0.05)
            before = len(stamps.read_text().splitlines())
            moment = time.time()
            spooler.add("-n", str(program), str(stamps))
            until(partial(_longer, stamps, before), "it was started")
            found.append((float(stamps.read_text().splitlines()[-1]) - moment) * 1000.0)
    return found


def _stamped(made: Daemon, stamps: Path, jobs: int, *, delay: float | None) -> list[float]:
    """Milliseconds from each commit, or each job's own moment."""
    connection = apsw.Connection(str(made.database))
    connection.execute("PRAGMA synchronous = FULL").fetchall()
    found: list[float] = []
    for _ in range(jobs):
        time.sleep(0.05)
        before = len(stamps.read_text().splitlines())
        due = time.time() + (delay or 0.0)
        connection.execute("INSERT INTO jobs (queue, run_at) VALUES ('stamp', ?)", (due,)).fetchall()
        moment = time.time() if delay is None else due
        until(partial(_longer, stamps, before), "it was started")
        found.append((float(stamps.read_text().splitlines()[-1]) - moment) * 1000.0)
    connection.close()
    return found


def _longer(stamps: Path, lines: int) -> bool:
    return len(stamps.read_text().splitlines()) > lines


def _everyone(made: Daemon) -> list[int]:
    return [made.pid, *children(made.pid)]


def _processor(pids: list[int]) -> float:
    """Seconds on a processor so far."""
    return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in pids) / 1e9


def _wakeups(pids: list[int]) -> int:
    texts = (Path(f"/proc/{pid}/status").read_text() for pid in pids)
    return sum(int(text.split("voluntary_ctxt_switches:")[1].split()[0]) for text in texts)


def idle(seconds: float) -> list[Row]:
    """What eight workers cost that have nothing to do."""
    with daemon(_TRUE, 8) as made:
        time.sleep(2.0)
        pids = _everyone(made)
        before, woken = _processor(pids), _wakeups(pids)
        time.sleep(seconds)
        share = (_processor(pids) - before) / seconds * 100.0
        wakeups = (_wakeups(pids) - woken) / seconds
        memory = sum(_pss(pid) for pid in pids)
        others = _memory_of_huey()
    row = Row("memory, parent + steward + 8 workers (PSS)", memory, "MiB", goal=40.0)
    if others:
        row = replace(
            row, against="huey with 2 workers", reference=others, ratio=memory / others, of_value=True
        )
    return [
        Row("idle, 8 workers: processor", share, "% of a core", goal=0.03),
        Row("idle, 8 workers: wake-ups", wakeups, "/s", goal=2.0),
        row,
    ]


def _memory_of_huey() -> float | None:
    """Of the consumer and two workers that have each run jobs; None where there is no huey."""
    python = peers.huey_python()
    if python is None:
        return None
    with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
        made = peers.Consumer(Path(folder), 2, python)
        made.add(20)
        with made:
            until(lambda: made.ran.stat().st_size >= 20, "huey has run all jobs", 60.0)
            return sum(_pss(pid) for pid in made.pids())


def _pss(pid: int) -> float:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(text.split("Pss:")[1].split()[0]) / 1024.0


def herd(rounds: int) -> list[Row]:
    """What adding one job costs an idle daemon, by its number of workers."""

    def cost(workers: int) -> float:
        with daemon(_TRUE, workers) as made:
            connection = apsw.Connection(str(made.database))
            time.sleep(1.0)
            pids = _everyone(made)
            before = _processor(pids)
            for _ in range(20):
                connection.execute("INSERT INTO jobs (queue) VALUES ('true')").fetchall()
                time.sleep(0.05)
            time.sleep(0.5)
            connection.close()
            return (_processor(pids) - before) / 20 * 1000.0

    many, few = in_turns(rounds, lambda: cost(32), lambda: cost(2), warm=False)
    name = "a job's cost to a daemon of 32 workers"
    return [compared(name, "ms", many, "2 workers", few, goal=1.3, more=False)]
