"""The queue's plain values: what a job, a claim, an outcome and a verdict are.

What a new job is stands in `newjob`, and on which terms a queue's jobs run in `terms`: those who only add
jobs load nothing else.

Times called `…_at` or `until` are Unix seconds; `…_awake` are seconds of the clock's `awake` hand;
lengths are seconds.
"""

from dataclasses import dataclass
from enum import Enum

from sqlqd.newjob import LATEST as LATEST
from sqlqd.newjob import PRIORITIES as PRIORITIES
from sqlqd.newjob import Conflict as Conflict
from sqlqd.newjob import Enqueued as Enqueued
from sqlqd.newjob import NewJob as NewJob
from sqlqd.terms import DEFAULT_MAX_ATTEMPTS as DEFAULT_MAX_ATTEMPTS
from sqlqd.terms import DEFAULT_MAX_CRASHES as DEFAULT_MAX_CRASHES
from sqlqd.terms import Backoff as Backoff
from sqlqd.terms import Breaker as Breaker
from sqlqd.terms import Policy as Policy
from sqlqd.terms import Rate as Rate
from sqlqd.terms import Rules as Rules

SHORTEST_PREFIX = 6
"""Characters of an id that stand for it where no other begins so."""


@dataclass(frozen=True, slots=True)
class Job:
    """A live job as it stands in its row."""

    id: str
    queue: str
    payload: str
    priority: int
    run_at: float
    attempts: int
    """Claims so far; in a claim, the one that it is."""
    max_attempts: int | None
    """None: the queue's."""
    key: str | None
    created_at: float
    last_error: str | None
    crashes: int = 0
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Holder:
    """Who claims: a worker by its uid, which is new for every process, with what names it to people."""

    uid: str
    slot: int
    pid: int


@dataclass(frozen=True, slots=True)
class Claim:
    """One job given to one holder for the length of a lease. The token is the right to end it."""

    job: Job
    token: str
    max_attempts: int
    """The one in force: the job's own, else the queue's."""
    claimed_at: float
    until: float
    until_awake: float
    keep_done: float
    blocks: int = 0
    """How often in a row the queue's command could not be started."""
    breaker: Breaker | None = None
    on_dead: str | None = None

    @property
    def id(self) -> str:
        """The job's id."""
        return self.job.id

    @property
    def queue(self) -> str:
        """The job's queue."""
        return self.job.queue

    @property
    def payload(self) -> str:
        """The job's payload."""
        return self.job.payload

    @property
    def attempts(self) -> int:
        """Claims of the job so far, this one included."""
        return self.job.attempts


_PARTS = 4
"""Of a token of ours: uid, slot, pid and what makes it new."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Who holds which job, as it stands in the job's row."""

    job_id: str
    token: str

    @property
    def uid(self) -> str:
        """The holder's, by the token."""
        return self.token.partition("/")[0]

    @property
    def slot(self) -> int | None:
        """The holder's place in its daemon; None where the token is another program's."""
        parts = self.token.split("/")
        return int(parts[1]) if len(parts) == _PARTS and parts[1].isdecimal() else None


class Ask(Enum):
    """What a person may want of a job that runs."""

    KILL = "kill"
    """End this attempt; what follows is for the queue's settings to decide."""
    BURY = "bury"
    """End it, and move the job to the dead ones."""
    CANCEL = "cancel"
    """End it, and take the job away."""

    @property
    def further(self) -> int:
        """How far it goes: of two the one that goes further holds."""
        return tuple(Ask).index(self)


@dataclass(frozen=True, slots=True)
class Lost:
    """A job whose lease was ended for its holder."""

    id: str
    queue: str
    attempt: int
    reason: str
    gone: Ask | None = None
    """What became of it where it does not go back to the waiting ones: BURY or CANCEL."""


@dataclass(frozen=True, slots=True)
class Fired:
    """What came of looking at a schedule."""

    name: str
    jobs: tuple[str, ...]
    """Ids of those that were added."""
    skipped: str
    """Why times were left out; empty: none were."""
    kept_out_by: tuple[str, ...]
    """Jobs of earlier times that are still live."""
    next_at: float | None


@dataclass(frozen=True, slots=True)
class Pause:
    """A queue that gives out no jobs; "" are all of them."""

    queue: str
    since: float
    until: float | None = None
    """None: until somebody ends it."""


@dataclass(frozen=True, slots=True)
class Buried:
    """A job that a claim moved to the dead ones, since it can never run (again)."""

    id: str
    queue: str
    attempts: int
    reason: str


@dataclass(frozen=True, slots=True)
class Taken:
    """What a look for work brought: a claim or none, and what had to be buried on the way."""

    claim: Claim | None
    buried: tuple[Buried, ...] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a running job is, by its command's own word."""

    percent: float
    text: str = ""


class Ended(Enum):
    """How a command's run ended."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timeout"
    NOT_STARTED = "not started"
    """The command or the machine is at fault: nobody's among the jobs."""
    UNFIT = "unfit"
    """This job can never be started: its payload does not fit into a process."""
    INTERRUPTED = "interrupted"
    """Ended by us because the daemon stops."""
    CANCELLED = "cancelled"
    KILLED = "killed"
    """Ended by a person: a failure."""
    BURIED = "killed for good"
    """The same, and it is not to be tried again."""
    LEASE_LOST = "lease lost"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run of a command, from start to end."""

    how: Ended
    started_at: float
    duration: float
    code: int | None = None
    """The exit status, where it exited."""
    signal: int | None = None
    detail: str = ""
    """What a person needs beside code and signal: the system's word, the limit that was met."""
    output: str = ""
    """The tail of what it wrote, at most 8 KiB, fit to be stored."""
    cpu: float | None = None
    """Seconds of processor time of the whole job where it had a cgroup of its own, else of the command and
    the children that it waited for."""
    memory_peak: int | None = None
    """Bytes; known where the job had a cgroup of its own whose memory is counted."""
    retry_after: float | None = None
    """Seconds after which the command itself asked to be tried again, should it have failed."""
    lasting: bool = False
    """With NOT_STARTED: the queue's command is at fault, not a passing lack of processes or descriptors."""


@dataclass(frozen=True, slots=True)
class Done:
    """It succeeded: the job goes, a record may stay."""


@dataclass(frozen=True, slots=True)
class Retry:
    """It failed and may try again, not before `at`."""

    at: float
    reason: str


@dataclass(frozen=True, slots=True)
class Bury:
    """It failed for good: to the dead jobs."""

    reason: str


@dataclass(frozen=True, slots=True)
class Release:
    """It never had its chance: back as it was, the attempt given back."""

    reason: str
    at: float | None = None
    """Not before; None: at once."""
    block: float = 0.0
    """Seconds that the whole queue is held, where its command cannot be started."""
    told: bool = False
    """Whether it ran and said so: the reason is kept with the job, as of a failure."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Taken away by a person: recorded as cancelled, not dead."""


Verdict = Done | Retry | Bury | Release | Cancel


@dataclass(frozen=True, slots=True)
class Settled:
    """What came of settling: whether the claim was still ours, and the next one where it was asked for."""

    kept: bool
    next: Taken = Taken(None)
    verdict: Verdict | None = None
    """What became of the job where a person asked for something else meanwhile."""
    held_for: float = 0.0
    """Seconds for which its queue is held, since too many failed in a row."""
    freed: bool = False
    """Whether its queue was held, and its success ended that."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What waits: how many jobs are due now (up to the limit asked for) and when the next one is."""

    due: int
    next_at: float | None


class State(Enum):
    """A job's state, derived from its row."""

    READY = "ready"
    SCHEDULED = "scheduled"
    RUNNING = "running"
    DEAD = "dead"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which jobs: every condition that is set must hold."""

    ids: tuple[str, ...] = ()
    """Whole ids or unique prefixes of at least 6 characters."""
    queue: str | None = None
    states: frozenset[State] = frozenset()
    """Empty: every state that the verb can act on."""
    key: str | None = None
    error: str | None = None
    older_than: float | None = None
    newer_than: float | None = None
    limit: int | None = None


class Order(Enum):
    """In which order jobs are listed; live ones come before dead ones, and these before ended ones."""

    OLDEST = "oldest"
    """As they came there."""
    NEWEST = "newest"
    """Those first that came last."""
    DUE = "due"
    """Live ones alone: those that somebody holds, then those that wait, the one that is due first leading."""
    PRIORITY = "priority"
    """The same, by priority before that."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One ended attempt of a job that is live or dead."""

    number: int
    started_at: float
    ended_at: float
    outcome: str
    exit_code: int | None
    signal: int | None
    cpu: float | None
    error: str
    worker: str


@dataclass(frozen=True, slots=True)
class Record:
    """One job as a person sees it, wherever it stands. `None` where its state has no such thing."""

    id: str
    queue: str
    state: State
    attempts: int
    key: str | None = None
    payload: str | None = None
    priority: int | None = None
    run_at: float | None = None
    locked_until: float | None = None
    locked_by: str | None = None
    max_attempts: int | None = None
    created_at: float | None = None
    claimed_at: float | None = None
    last_error: str | None = None
    crashes: int | None = None
    progress: Progress | None = None
    died_at: float | None = None
    reason: str | None = None
    ended_at: float | None = None
    outcome: str | None = None
    duration: float | None = None
    exit_code: int | None = None
    history: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True)
class QueueCount:
    """One queue at a glance."""

    name: str
    ready: int = 0
    scheduled: int = 0
    running: int = 0
    dead: int = 0
    oldest_ready_at: float | None = None
    paused_at: float | None = None
    paused_until: float | None = None
    blocked_until: float | None = None
    blocked_reason: str | None = None
    broken: bool = False
    """It is held since its jobs failed, not since its command cannot be started."""
    done_last_hour: int = 0
    failed_last_hour: int = 0
    """Attempts that did not succeed, as counted in slots of five minutes: of the last 55 to 60 minutes."""


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """A worker process and what it holds."""

    uid: str
    daemon_pid: int
    slot: int
    pid: int
    started_at: float
    job_id: str | None = None
    queue: str | None = None
    claimed_at: float | None = None
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class DaemonSeen:
    """A daemon as it announced itself; whether it still lives is the lock's to say."""

    pid: int
    started_at: float
    loaded_at: float
    version: str
    config: str
    workers: int


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything `status` shows, read in one transaction."""

    now: float
    queues: tuple[QueueCount, ...]
    workers: tuple[WorkerSeen, ...]
    daemons: tuple[DaemonSeen, ...]
    pause: Pause | None = None
    """That of all queues."""
    orphaned: int = 0
    """Jobs under a lease of one of our workers whom no daemon knows any more."""


@dataclass(frozen=True, slots=True)
class Touched:
    """What an operator's verb changed, and what it left alone with the reason."""

    jobs: tuple[Record, ...]
    skipped: tuple[tuple[str, str], ...] = ()
    freed: bool = False
    """Whether the queue named by the selection was held, and is no longer."""
