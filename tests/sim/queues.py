"""The queues of the simulated daemon: short leases, few attempts, and a limit of each kind."""

import math

from sqlqd.config import Queue
from sqlqd.model import Backoff

QUEUES = {
    queue.name: queue
    for queue in (
        Queue(
            name="plain",
            command="true",
            lease=6.0,
            kill_grace=1.0,
            max_attempts=3,
            max_crashes=3,
            backoff=Backoff(1.0, 2.0, 4.0, 0.25),
            drain_timeout=2.0,
        ),
        Queue(
            name="narrow",
            command="true",
            concurrency=1,
            lease=2.0,
            timeout=20.0,
            kill_grace=3.0,
            max_attempts=4,
            keep_done=0.0,
            backoff=Backoff(0.0, 1.0, 0.0, 0.0),
            drain_timeout=10.0,
        ),
        Queue(
            name="frail",
            command="true",
            lease=12.0,
            kill_grace=1.0,
            max_attempts=9,
            max_crashes=1,
            json=True,
            backoff=Backoff(0.0, 1.0, 0.0, 0.0),
            drain_timeout=math.inf,
        ),
    )
}
LONGEST_LEASE = max(queue.lease for queue in QUEUES.values())
