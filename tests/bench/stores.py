"""What the store costs by itself: against loops written by hand without any of its promises."""

import multiprocessing
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from itertools import pairwise
from pathlib import Path

import apsw

from sqlqd.clock import SystemClock
from sqlqd.model import Done, Holder, NewJob, Rules
from sqlqd.steward.chores import CHECKPOINT_AFTER
from sqlqd.store.sqlite import SqliteStore, open_store
from tests.bench import peers
from tests.bench.rows import Row, compared, in_turns, percentile

_RULES = (Rules("mail", keep_done=0.0),)
_HAND = """
CREATE TABLE jobs (id INTEGER PRIMARY KEY, queue TEXT, payload TEXT, run_at REAL, locked INTEGER DEFAULT 0);
CREATE INDEX jobs_next ON jobs (queue, locked, run_at);
"""
_STEWARD = 10
"""The number of the one that copies the log, behind eight workers and two producers."""
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
    elapsed = time.monotonic() - start
    peers.expect(target.__name__, jobs - _count(path), jobs)
    if any(one.exitcode for one in both):
        raise peers.MissedJobsError(f"{target.__name__} failed")
    return jobs / elapsed


def claims(rounds: int, jobs: int) -> list[Row]:
    """Claim and finish without a command, by two processes."""

    def ours() -> float:
        with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
            return _together(_drain, _filled(Path(folder), jobs), jobs)

    def by_hand() -> float:
        with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
            return _together(_drain_by_hand, _filled_by_hand(Path(folder), jobs), jobs)

    mine, hand = in_turns(rounds, ours, by_hand)
    name = "claim + finish without a command, 2 processes"
    return [compared(name, "/s", mine, "a loop written by hand", hand, goal=0.75, more=True)]


def _write_for(path: str, number: int, seconds: float, results: "multiprocessing.Queue[list[float]]") -> None:
    """Flat out: eight that claim and finish, and two that add; and one that keeps the log short."""
    store = open_store(Path(path), SystemClock(), busy_timeout=60.0, autocheckpoint=False)
    holder = Holder(f"{number:016x}", number + 1, number + 1)
    waits: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.monotonic()
        if number == _STEWARD:
            store.checkpoint()
            time.sleep(CHECKPOINT_AFTER)
        elif number < 8:
            claim = store.claim(holder, _RULES).claim
            waits.append(time.monotonic() - start)
            if claim is not None:
                store.settle(claim, Done())
        else:
            store.enqueue([NewJob("mail", "x")])
            waits.append(time.monotonic() - start)
    results.put(waits if number < _STEWARD else [0.0])
    store.close()


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
    processes: int = _STEWARD,
) -> list[list[float]]:
    context = multiprocessing.get_context("spawn")
    results: multiprocessing.Queue[list[float]] = context.Queue()
    all_of_them = [
        context.Process(target=target, args=(str(path), number, seconds, results))
        for number in range(processes)
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
            waits = _load(_write_for, _filled(Path(folder), 20_000), seconds, _STEWARD + 1)
        return max(max(each, default=seconds) for each in waits) * 1000.0

    def handlers() -> float:
        with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
            waits = _load(_write_by_handler, _filled_by_hand(Path(folder), 20_000), seconds)
        return max(max(each, default=seconds) for each in waits) * 1000.0

    mine, theirs = in_turns(rounds, ours, handlers, warm=False)
    name = "longest wait for the write lock, 10 writers"
    return [compared(name, "ms", mine, "SQLite's busy handler", theirs, goal=0.1, more=False)]


def enqueue(rounds: int) -> list[Row]:
    """One job from the shell, against the interpreter that it runs in, and against others' ways."""
    with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder, ExitStack() as stack:
        home = Path(folder)
        config = _configured(home)
        program = Path(sys.executable).with_name("sqlqd")
        env = {"NQDIR": str(home / "nq")}
        ways = {"python3 -c pass": [sys.executable, "-c", "pass"]}
        if shutil.which("tsp"):
            ways["task-spooler"] = ["tsp", "sh", "-c", "true"]
            env |= stack.enter_context(peers.Spooler(home, 2)).env
        if shutil.which("nq"):
            ways["nq"] = ["nq", "sh", "-c", "true"]
        if shutil.which("sqlite3"):
            insert = "PRAGMA synchronous = FULL; INSERT INTO jobs (queue, payload) VALUES ('mail', 'hello')"
            ways["sqlite3's INSERT"] = ["sqlite3", str(home / "queue.db"), insert]

        def timed(words: list[str]) -> float:
            start = time.perf_counter()
            subprocess.run(words, stdout=subprocess.DEVNULL, check=True, env={**os.environ, **env})
            return (time.perf_counter() - start) * 1000.0

        own = [str(program), "-c", str(config), "enqueue", "mail", "hello"]
        mine, *found = in_turns(rounds, *(partial(timed, words) for words in (own, *ways.values())))
        peers.expect("enqueue", _count(home / "queue.db"), (rounds + 1) * (1 + ("sqlite3's INSERT" in ways)))
    goals = {"python3 -c pass": 4.5}
    return [
        compared("enqueue of one job", "ms", mine, name, values, goal=goals.get(name), more=False)
        for name, values in zip(ways, found, strict=True)
    ]


def _configured(home: Path) -> Path:
    """A configuration, and its empty database."""
    config = home / "sqlqd.toml"
    config.write_text('[daemon]\ndatabase = "queue.db"\n[queues.mail]\ncommand = "true"\n')
    open_store(home / "queue.db", SystemClock(), create=True).close()
    return config


def _count(path: Path, queue: str = "mail") -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("SELECT count(*) FROM jobs WHERE queue = ?", (queue,)).fetchone()[0])


def lines(rounds: int, jobs: int) -> list[Row]:
    """Many jobs by `enqueue --lines`, against one transaction by hand; and how long others wait."""
    text = b"".join(b"payload number %d\n" % number for number in range(jobs))
    working: list[float] = []
    reading: list[float] = []

    def ours() -> float:
        with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
            home = Path(folder)
            config, source = _configured(home), home / "lines"
            source.write_bytes(text)
            words = [str(Path(sys.executable).with_name("sqlqd")), "-c", str(config), "enqueue", "mail"]
            store = open_store(home / "queue.db", SystemClock())
            store.enqueue([NewJob("work", "x")] * 10_000)
            reader = apsw.Connection(str(home / "queue.db"))
            with source.open("rb") as given:
                start = time.perf_counter()
                adding = subprocess.Popen([*words, "--lines"], stdin=given, stdout=subprocess.DEVNULL)
                while adding.poll() is None:
                    working.append(_timed(lambda: _work(store)))
                    reading.append(_timed(lambda: reader.execute(_READ).fetchall()))
                    time.sleep(0.002)
                elapsed = time.perf_counter() - start
            reader.close()
            store.close()
            peers.expect("enqueue --lines", _count(home / "queue.db"), jobs)
        return jobs / elapsed

    def by_hand() -> float:
        with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
            _configured(Path(folder))
            start = time.perf_counter()
            connection = sqlite3.connect(Path(folder) / "queue.db", isolation_level=None)
            connection.execute("BEGIN")
            rows = ((line.decode(),) for line in text.splitlines())
            connection.executemany("INSERT INTO jobs (queue, payload) VALUES ('mail', ?)", rows)
            connection.execute("COMMIT")
            connection.close()
            return jobs / (time.perf_counter() - start)

    mine, hand = in_turns(rounds, ours, by_hand)
    name = f"enqueue --lines, {jobs:,} jobs"
    return [
        compared(name, "/s", mine, "one executemany by hand", hand, goal=0.5, more=True),
        Row("a worker's claim and finish meanwhile, longest", max(working), "ms", goal=50.0),
        Row("a worker's claim and finish meanwhile, p99", percentile(working, 0.99), "ms", goal=50.0),
        Row("a reader's wait meanwhile, longest", max(reading), "ms", goal=50.0),
        Row("a reader's wait meanwhile, p99", percentile(reading, 0.99), "ms", goal=50.0),
    ]


_READ = "SELECT id FROM jobs WHERE queue = 'work' LIMIT 1"


def _work(store: SqliteStore) -> None:
    claim = store.claim(Holder("b" * 16, 1, 1), (Rules("work", keep_done=0.0),)).claim
    if claim is not None:
        store.settle(claim, Done())


def _timed(what: Callable[[], object]) -> float:
    start = time.perf_counter()
    what()
    return (time.perf_counter() - start) * 1000.0


def drained(jobs: int) -> list[Row]:
    """A full file drained in one go: the last tenth against the first, and what file and memory grow by."""
    with tempfile.TemporaryDirectory(prefix="sqlqd-bench-") as folder:
        path = _filled(Path(folder), jobs)
        size = path.stat().st_size
        store = open_store(path, SystemClock(), autocheckpoint=False)
        holder = Holder("b" * 16, 1, 1)
        moments, memory = [time.perf_counter()], []
        claim = store.claim(holder, _RULES).claim
        done = 0
        while claim is not None:
            claim = store.settle(claim, Done(), then=(holder, _RULES)).next.claim
            done += 1
            if done % 1000 == 0:
                store.checkpoint()
                moments.append(time.perf_counter())
                memory.append(_resident())
        store.close()
        grown = path.stat().st_size
        peers.expect("the drain", done, jobs)
        peers.expect("the drain", jobs - _count(path), jobs)
    rates = [1000 / (after - before) for before, after in pairwise(moments)]
    tenth = len(rates) // 10
    name, first = f"{jobs:,} jobs drained: the last tenth", "the first tenth"
    sizes = [grown / 2**20], [size / 2**20]
    return [
        compared(name, "/s", rates[-tenth:], first, rates[:tenth], goal=0.9, more=True),
        compared("memory of who drains", "MiB", memory[-tenth:], first, memory[:tenth], goal=1.1, more=False),
        compared("the file at the end", "MiB", sizes[0], "before", sizes[1], goal=1.01, more=False),
    ]


def _resident() -> float:
    """Of this process, in MiB."""
    text = Path("/proc/self/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) / 1024.0
