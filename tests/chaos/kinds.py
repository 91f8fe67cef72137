"""The kinds of jobs under chaos: a queue each, how often it is chosen, and how its jobs must end."""

import json
import random
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PLACES = 2
"""How many of the limited kind may run at once."""

SHORTEST_LEASE = 2.0

CONFIG = """\
[daemon]
database = {database}
workers = {workers}
drain_timeout = "3s"
log_format = "json"

[defaults]
lease = "3s"
timeout = "30s"
kill_grace = "1s"
max_attempts = 100000
max_crashes = 100000
keep_done = "7d"
backoff = {{initial = "200ms", factor = 1.0, max = "200ms"}}
"""

_JOB = str(Path(__file__).with_name("job.py"))
_KEYS = 10


@dataclass(frozen=True, slots=True)
class Kind:
    """One queue. `settings` are more lines of its table."""

    weight: int
    settings: str = ""
    ends: str = "done"
    """Or "dead"."""


KINDS: Mapping[str, Kind] = {
    "quick": Kind(120),
    "slow": Kind(6, f"lease = {SHORTEST_LEASE:.0f}"),
    "failing": Kind(12),
    "doomed": Kind(6, "max_attempts = 4", ends="dead"),
    "leaver": Kind(12),
    "storm": Kind(4),
    "endless": Kind(2, 'timeout = "1s"\nkill_grace = "300ms"'),
    "limited": Kind(14, f"concurrency = {PLACES}"),
    "sometimes": Kind(10),
}


@dataclass(frozen=True, slots=True)
class Wish:
    """What a producer is to add: `count` jobs that are alike; one where there is a key."""

    kind: str
    payload: str
    count: int = 1
    delay: float = 0.0
    priority: int = 0
    key: str | None = None


def wished(chance: random.Random) -> Wish:
    """Any."""
    kind = chance.choices(list(KINDS), [kind.weight for kind in KINDS.values()])[0]
    keyed = chance.random() < 0.15
    return Wish(
        kind,
        payload=f"it's {kind} " + "é" * chance.choice((0, 10, 3000)),
        count=1 if keyed else chance.choice((1, 1, 1, 3, 6)),
        delay=chance.uniform(0.1, 3.0) if chance.random() < 0.2 else 0.0,
        priority=chance.randint(-100, 100) if chance.random() < 0.3 else 0,
        key=f"key {chance.randrange(_KEYS)}" if keyed else None,
    )


def configuration(database: Path, sometimes: Path, workers: int) -> str:
    """For a daemon: `sometimes` is the program of the queue whose program is not always there."""
    text = CONFIG.format(database=json.dumps(str(database)), workers=workers)
    for name, kind in KINDS.items():
        program = str(sometimes) if name == "sometimes" else sys.executable
        command = json.dumps([program, "-I", "-S", _JOB, name])
        text += f"\n[queues.{name}]\ncommand = {command}\n{kind.settings}\n"
    return text
