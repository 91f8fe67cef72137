"""What a daemon costs and how fast it is: throughput, pick-up, idling, memory."""

import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import apsw

from tests.bench.rows import Row, in_turns, percentile, spread
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
        while connection.execute(left).fetchall()[0][0]:
            time.sleep(0.01)
        elapsed = time.perf_counter() - start
        connection.close()
    return jobs / elapsed


def peers(jobs: int) -> dict[str, list[str]]:
    """Those that are installed, each as a shell command that gets through that many jobs, two at a time."""
    numbers = f"seq {jobs}"
    spooled = (
        "export TS_SOCKET=$(mktemp -u) TS_MAXFINISHED=1; tsp -S 2; "
        f"for i in $({numbers}); do tsp sh -c true >/dev/null; done; "
        'while [ -n "$(tsp -l | sed 1d | grep -v finished)" ]; do sleep 0.01; done; tsp -K'
    )
    known = {
        "xargs -P2": ("xargs", f"{numbers} | xargs -P2 -n1 sh -c true"),
        "GNU parallel -j2": ("parallel", f"{numbers} | parallel -j2 sh -c true"),
        "task-spooler, 2 slots": (
            "tsp",
            spooled,
        ),
    }
    return {
        name: ["/bin/sh", "-c", script] for name, (program, script) in known.items() if shutil.which(program)
    }


def _peer_rate(words: list[str], jobs: int) -> float:
    start = time.perf_counter()
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300, check=False)
    return jobs / (time.perf_counter() - start)


def throughput(rounds: int, jobs: int) -> list[Row]:
    """Two workers against each peer, and eight against two."""
    others = peers(jobs)
    measures = [partial(_peer_rate, words, jobs) for words in others.values()]
    two, eight, *found = in_turns(rounds, lambda: rate(2, jobs), lambda: rate(8, jobs), *measures)
    ours = statistics.median(two)
    rows = [
        Row(
            "jobs a second, `true`, 2 workers",
            ours,
            "/s",
            name,
            statistics.median(values),
            0.80 if name.startswith("xargs") else 0.0,
            more=True,
            spread=spread(two),
        )
        for name, values in zip(others, found, strict=True)
    ]
    return [
        *rows,
        Row(
            "the same, 8 workers",
            statistics.median(eight),
            "/s",
            "2 workers",
            ours,
            1.3,
            more=True,
            spread=spread(eight),
        ),
    ]


def pickup(jobs: int) -> tuple[list[Row], list[float]]:
    """From a commit by another program to the command's first instruction; and how late a delayed job is."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return [], []
    with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
        program, stamps = Path(folder) / "stamp", Path(folder) / "stamps"
        source = program.with_suffix(".c")
        source.write_text(_STAMP)
        subprocess.run([compiler, "-O1", "-o", program, source], check=True)
        stamps.touch()
        queue = f'[queues.stamp]\ncommand = ["{program}", "{stamps}"]\ntimeout = "1min"\n'
        with daemon(queue, 4) as made:
            plain = _stamped(made, stamps, jobs, delay=None)
            late = _stamped(made, stamps, max(5, jobs // 5), delay=0.35)
    return [
        Row("pick-up after a plain INSERT, p50", percentile(plain, 0.5), "ms", "", None, 3.0, more=False),
        Row("pick-up after a plain INSERT, p99", percentile(plain, 0.99), "ms", "", None, 10.0, more=False),
        Row("a delayed job's lateness, p99", percentile(late, 0.99), "ms", "", None, 10.0, more=False),
    ], plain


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
    return [
        Row("idle, 8 workers: processor", share, "% of a core", "", None, 0.03, more=False),
        Row("idle, 8 workers: wake-ups", wakeups, "/s", "", None, 2.0, more=False),
        Row("memory, parent + steward + 8 workers", memory, "MiB", "", None, 40.0, more=False),
    ]


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

    many, few = in_turns(rounds, lambda: cost(32), lambda: cost(2))
    return [
        Row(
            "a job's cost to a daemon of 32 workers",
            statistics.median(many),
            "ms",
            "2 workers",
            statistics.median(few),
            1.3,
            more=False,
            spread=spread(many),
        )
    ]


def processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))
