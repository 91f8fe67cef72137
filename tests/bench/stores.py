"""What the store costs by itself: against loops written by hand without any of its promises."""

import multiprocessing
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import apsw

from sqlqd.clock import SystemClock
from sqlqd.model import Done, Holder, NewJob, Rules
from sqlqd.store.sqlite import open_store
from tests.bench.rows import Row, in_turns, percentile, spread

_RULES = (Rules("mail", keep_done=0.0),)
_HAND = """
CREATE TABLE jobs (id INTEGER PRIMARY KEY, queue TEXT, payload TEXT, run_at REAL, locked INTEGER DEFAULT 0);
CREATE INDEX jobs_next ON jobs (queue, locked, run_at);
"""
_MANY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "


def _filled(folder: Path, jobs: int) -> Path:
    path = folder / "queue.db"
    open_store(path, SystemClock(), create=True).close()
    connection = apsw.Connection(str(path))
    with connection:
        connection.execute(_MANY + "INSERT INTO jobs (queue, payload) SELECT 'mail', 'x' FROM n", (jobs,))
    connection.close()
    return path


def _filled_by_hand(folder: Path, jobs: int) -> Path:
    path = folder / "hand.db"
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute(_HAND).fetchall()
    with connection:
        connection.execute(
            _MANY + "INSERT INTO jobs (queue, payload, run_at) SELECT 'mail', 'x', 0 FROM n", (jobs,)
        )
    connection.close()
    return path


def _drain(path: str, number: int, start: float) -> None:
    store = open_store(Path(path), SystemClock(), autocheckpoint=number == 0)
    holder = Holder(f"{number:016x}", number + 1, number + 1)
    _until(start)
    claim = store.claim(holder, _RULES).claim
    while claim is not None:
        claim = store.settle(claim, Done(), then=(holder, _RULES)).next.claim
    store.close()


def _drain_by_hand(path: str, number: int, start: float) -> None:
    """One transaction a job: the next one is marked, and the last one deleted."""
    connection = apsw.Connection(path)
    connection.set_busy_timeout(10_000)
    connection.execute("PRAGMA synchronous = NORMAL").fetchall()
    if number:
        connection.wal_autocheckpoint(0)
    _until(start)
    held = None
    while True:
        connection.execute("BEGIN IMMEDIATE").fetchall()
        if held is not None:
            connection.execute("DELETE FROM jobs WHERE id = ?", (held,)).fetchall()
        rows = connection.execute(
            "UPDATE jobs SET locked = 1 WHERE id = (SELECT id FROM jobs WHERE queue = 'mail' AND locked = 0 "
            "AND run_at <= ? ORDER BY run_at, id LIMIT 1) RETURNING id, payload",
            (time.time(),),
        ).fetchall()
        connection.execute("COMMIT").fetchall()
        if not rows:
            return
        held = rows[0][0]


def _until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))


def _together(target: Callable[[str, int, float], None], path: Path, jobs: int) -> float:
    start = time.monotonic() + 0.5
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=target, args=(str(path), number, start)) for number in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    return jobs / (time.monotonic() - start)


def claims(rounds: int, jobs: int) -> list[Row]:
    """Claim and finish without a command, by two processes."""

    def ours() -> float:
        with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
            return _together(_drain, _filled(Path(folder), jobs), jobs)

    def by_hand() -> float:
        with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
            return _together(_drain_by_hand, _filled_by_hand(Path(folder), jobs), jobs)

    mine, hand = in_turns(rounds, ours, by_hand)
    return [
        Row(
            "claim + finish without a command, 2 processes",
            statistics.median(mine),
            "/s",
            "a loop written by hand",
            statistics.median(hand),
            0.75,
            more=True,
            spread=spread(mine),
        )
    ]


def _write_for(path: str, number: int, seconds: float, results: "multiprocessing.Queue[list[float]]") -> None:
    """Flat out: eight that claim and finish, and two that add."""
    store = open_store(Path(path), SystemClock(), busy_timeout=60.0, autocheckpoint=number == 0)
    holder = Holder(f"{number:016x}", number + 1, number + 1)
    waits: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.monotonic()
        if number < 8:
            claim = store.claim(holder, _RULES).claim
            waits.append(time.monotonic() - start)
            if claim is not None:
                store.settle(claim, Done())
        else:
            store.enqueue([NewJob("mail", "x")])
            waits.append(time.monotonic() - start)
    store.close()
    results.put(waits)


def _write_by_handler(
    path: str, number: int, seconds: float, results: "multiprocessing.Queue[list[float]]"
) -> None:
    """The same load, with the wait that SQLite has of its own."""
    connection = sqlite3.connect(path, timeout=60.0, isolation_level=None)
    connection.execute(f"PRAGMA synchronous = {'NORMAL' if number < 8 else 'FULL'}")
    waits: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.monotonic()
        connection.execute("BEGIN IMMEDIATE")
        if number < 8:
            connection.execute("DELETE FROM jobs WHERE id = (SELECT id FROM jobs ORDER BY id LIMIT 1)")
        else:
            connection.execute("INSERT INTO jobs (queue, payload, run_at) VALUES ('mail', 'x', 0)")
        connection.execute("COMMIT")
        waits.append(time.monotonic() - start)
    connection.close()
    results.put(waits)


def _load(
    target: Callable[[str, int, float, "multiprocessing.Queue[list[float]]"], None],
    path: Path,
    seconds: float,
) -> list[list[float]]:
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[list[float]] = context.Queue()
    all_of_them = [
        context.Process(target=target, args=(str(path), number, seconds, results)) for number in range(10)
    ]
    for one in all_of_them:
        one.start()
    found = [results.get() for _ in all_of_them]
    for one in all_of_them:
        one.join()
    return found


def locks(rounds: int, seconds: float) -> list[Row]:
    """The longest wait for the write lock, eight workers and two producers flat out."""

    def ours() -> float:
        with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
            waits = _load(_write_for, _filled(Path(folder), 20_000), seconds)
        return max(max(each, default=seconds) for each in waits) * 1000.0

    def handlers() -> float:
        with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
            waits = _load(_write_by_handler, _filled_by_hand(Path(folder), 20_000), seconds)
        return max(max(each, default=seconds) for each in waits) * 1000.0

    mine, theirs = in_turns(rounds, ours, handlers)
    return [
        Row(
            "longest wait for the write lock, 10 writers",
            statistics.median(mine),
            "ms",
            "SQLite's busy handler",
            statistics.median(theirs),
            0.1,
            more=False,
            spread=spread(mine),
        )
    ]


def enqueue(rounds: int) -> list[Row]:
    """One job from the shell, against the interpreter that it runs in."""
    with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
        config = Path(folder) / "sqlqd.toml"
        config.write_text('[daemon]\ndatabase = "queue.db"\n[queues.mail]\ncommand = "true"\n')
        program = Path(sys.executable).with_name("sqlqd")

        def timed(words: list[str]) -> float:
            start = time.perf_counter()
            subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
            return (time.perf_counter() - start) * 1000.0

        mine, bare = in_turns(
            rounds,
            lambda: timed([str(program), "-c", str(config), "enqueue", "mail", "hello"]),
            lambda: timed([sys.executable, "-c", "pass"]),
        )
    return [
        Row(
            "enqueue of one job",
            statistics.median(mine),
            "ms",
            "python3 -c pass",
            statistics.median(bare),
            4.5,
            more=False,
            spread=spread(mine),
        )
    ]


def lines(rounds: int, jobs: int) -> list[Row]:
    """Many jobs by `enqueue --lines`, against one transaction by hand; and how long another writer waits."""
    text = b"".join(b"payload number %d\n" % number for number in range(jobs))
    waits: list[float] = []

    def ours() -> float:
        with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
            config = Path(folder) / "sqlqd.toml"
            config.write_text('[daemon]\ndatabase = "queue.db"\n[queues.mail]\ncommand = "true"\n')
            program = str(Path(sys.executable).with_name("sqlqd"))
            store = open_store(Path(folder) / "queue.db", SystemClock(), create=True)
            start = time.perf_counter()
            words = [program, "-c", str(config), "enqueue", "mail", "--lines"]
            with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as adding:
                assert adding.stdin is not None
                reader = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=adding.stdin)
                adding.stdin.close()
                feeder = multiprocessing.get_context("fork").Process(target=_feed, args=(reader.stdin, text))
                feeder.start()
                assert reader.stdin is not None
                reader.stdin.close()
                while adding.poll() is None:
                    began = time.perf_counter()
                    store.claim(Holder("b" * 16, 1, 1), (Rules("nothing"),))
                    waits.append((time.perf_counter() - began) * 1000.0)
                    time.sleep(0.005)
                feeder.join()
                reader.wait()
            elapsed = time.perf_counter() - start
            store.close()
        return jobs / elapsed

    def by_hand() -> float:
        with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
            path = Path(folder) / "queue.db"
            open_store(path, SystemClock(), create=True).close()
            start = time.perf_counter()
            connection = sqlite3.connect(path, isolation_level=None)
            connection.execute("BEGIN")
            rows = ((line.decode(),) for line in text.splitlines())
            connection.executemany("INSERT INTO jobs (queue, payload) VALUES ('mail', ?)", rows)
            connection.execute("COMMIT")
            connection.close()
            return jobs / (time.perf_counter() - start)

    mine, hand = in_turns(rounds, ours, by_hand)
    return [
        Row(
            f"enqueue --lines, {jobs} jobs",
            statistics.median(mine),
            "/s",
            "one executemany by hand",
            statistics.median(hand),
            0.5,
            more=True,
            spread=spread(mine),
        ),
        Row("a writer's wait meanwhile, longest", max(waits), "ms", "", None, 50.0, more=False),
        Row("a writer's wait meanwhile, p99", percentile(waits, 0.99), "ms", "", None, 50.0, more=False),
    ]


def _feed(pipe: object, text: bytes) -> None:
    pipe.write(text)  # type: ignore[attr-defined]  # the pipe of a process
    pipe.close()  # type: ignore[attr-defined]  # as above


def drained(jobs: int) -> list[Row]:
    """A full file drained in one go: the last tenth against the first, and what the file grows by."""
    with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
        path = _filled(Path(folder), jobs)
        size = path.stat().st_size
        store = open_store(path, SystemClock(), autocheckpoint=False)
        holder = Holder("b" * 16, 1, 1)
        tenth = jobs // 10
        moments = [time.perf_counter()]
        claim = store.claim(holder, _RULES).claim
        done = 0
        while claim is not None:
            claim = store.settle(claim, Done(), then=(holder, _RULES)).next.claim
            done += 1
            if done % 1000 == 0:
                store.checkpoint()
            if done % tenth == 0:
                moments.append(time.perf_counter())
        store.close()
        grown = path.stat().st_size / size
    rates = [tenth / (after - before) for before, after in pairwise(moments)]
    return [
        Row(
            f"{jobs} jobs drained: the last tenth",
            rates[-1],
            "/s",
            "the first tenth",
            rates[0],
            0.9,
            more=True,
        ),
        Row("the file meanwhile", grown, "of its size before", "", None, 1.01, more=False),
    ]
