"""Many processes on one database: consumers and producers, each a program of its own, started at once."""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

CONSUMER = """
import json, sys
from pathlib import Path
from sqlqd.clock import SystemClock, pause
from sqlqd.model import Done, Holder, Retry, Rules
from sqlqd.store.sqlite import open_store
path, number, queues, fails, idle, work = sys.argv[1], *json.loads(sys.argv[2])
clock = SystemClock()
store = open_store(Path(path), clock, create=True, autocheckpoint=False)
me = Holder(f"{number:016x}", number, number)
served = [Rules(name, lease=30.0, concurrency=limit) for name, limit in queues]
print("ready", flush=True)
sys.stdin.readline()
ran, empty = [], 0
taken = store.claim(me, served)
while empty < idle:
    if taken.claim is None:
        empty += 1
        pause(0.002)
        taken = store.claim(me, served)
        continue
    empty = 0
    claim = taken.claim
    ran.append([claim.job.id, claim.job.payload, claim.job.attempts])
    pause(work)
    failed = fails and claim.job.attempts == 1
    verdict = Retry(clock.wall(), "once") if failed else Done()
    settled = store.settle(claim, verdict, then=(me, served))
    assert settled.kept, claim
    taken = settled.next
store.close()
print(json.dumps(ran))
"""

PRODUCER = """
import json, sys
from pathlib import Path
from sqlqd.clock import SystemClock
from sqlqd.model import NewJob
from sqlqd.store.sqlite import open_store
path, queue, name, number = sys.argv[1], *json.loads(sys.argv[2])
store = open_store(Path(path), SystemClock(), create=True)
print("ready", flush=True)
sys.stdin.readline()
ids = [store.enqueue([NewJob(queue, f"{name}-{one}")])[0].id for one in range(number)]
store.close()
print(json.dumps(ids))
"""

STRANGER = """
import json, sqlite3, sys
path, queue, name, number = sys.argv[1], *json.loads(sys.argv[2])
connection = sqlite3.connect(path, timeout=30, isolation_level=None)
connection.execute("PRAGMA wal_autocheckpoint = 0")
print("ready", flush=True)
sys.stdin.readline()
for one in range(number):
    connection.execute("INSERT INTO jobs (queue, payload) VALUES (?, ?)", (queue, f"{name}-{one}"))
connection.close()
print("[]")
"""


@dataclass
class Crowd:
    """Programs that wait for the word, then run together."""

    path: Path
    _waiting: list["subprocess.Popen[str]"] = field(default_factory=list)

    def add(self, program: str, *facts: Any) -> None:
        """One more of them."""
        self._waiting.append(
            subprocess.Popen(
                [sys.executable, "-c", program, str(self.path), json.dumps(facts)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=ROOT,
            )
        )

    def run(self) -> list[Any]:
        """Let them go; what each of them told at its end. One that fails fails the test with what it said."""
        for one in self._waiting:
            assert one.stdout is not None
            if one.stdout.readline() != "ready\n":
                raise AssertionError(one.communicate(timeout=10)[1])
        for one in self._waiting:
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        told = [one.communicate(timeout=55) for one in self._waiting]
        for one, (_, words) in zip(self._waiting, told, strict=True):
            assert one.returncode == 0, words
        return [json.loads(words) for words, _ in told]
