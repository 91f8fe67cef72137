"""Hypothesis' part: what may happen in the simulated world, in any order."""

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import apsw
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from sqlqd.command.launch import Refusal
from sqlqd.model import Ended, NewJob, Selection, State
from sqlqd.store.base import StoreBusy, StoreFailed
from sqlqd.worker import Worker
from tests.sim.commands import STUBBORN
from tests.sim.edge import Ill, Killed, Meanwhile, Trouble
from tests.sim.ground import silent_log
from tests.sim.ledger import Account, hold
from tests.sim.world import WORKERS, World

WORKER = st.integers(0, WORKERS - 1)
QUEUE = st.sampled_from(["plain", "plain", "narrow", "narrow", "frail"])
MOST = st.sampled_from([None, None, 1, 2])
SECONDS = st.sampled_from([0.1, 0.7, 1.5, 3.0, 7.0, 15.0])
END = st.sampled_from([(0, None), (0, None), (1, None), (1, None), (None, 9), (143, None)])
VERB = st.sampled_from(["", "claim", "settle", "settle", "settle", "renew", "renew", "worker_started"])
ILL = st.sampled_from(Ill)

ODD = {
    "not UTF-8": ("plain", "payload", "CAST(x'80' AS TEXT)"),
    "not JSON": ("frail", "payload", "'{'"),
    "key not UTF-8": ("narrow", "key", "CAST(x'80' AS TEXT)"),
    "used up": ("plain", "attempts", "7"),
    "a stranger's": ("plain", "attempts, locked_by, locked_until", "1, 'me', 1.0"),
    "no such queue": ("strange", "priority", "1"),
    "as it should be": ("plain", "priority", "1"),
    "infinite": ("plain", "max_attempts", "9e999"),
    "of words": ("plain", "priority", "'high'"),
    "half locked": ("plain", "locked_by", "'me'"),
}
"""Rows by plain SQL: their queue, and what they have beside it."""

VERBS = ["retry", "retry", "cancel", "cancel", "cancel", "purge", "kill", "kill", "bury"]
REFUSED = {"infinite", "of words", "half locked"}
UNFIT = {"not UTF-8", "not JSON", "key not UTF-8"}


CHANGES: dict[str, Callable[[World], None]] = {
    "an hour forward": lambda world: world.clock.step_wall(3600.0),
    "an hour back": lambda world: world.clock.step_wall(-3600.0),
    "a night's sleep": lambda world: world.clock.sleep(30_000.0),
    "a nap": lambda world: world.clock.sleep(5.0),
    "reboot": World.reboot,
    "the daemon dies": World.daemon_dies,
    "the parent dies": World.parent_dies,
    "the steward stops": lambda world: world.stop(world.steward),
    "the steward dies": lambda world: world.crash(world.steward, seen=True),
}


class Machine(RuleBasedStateMachine):
    """A daemon's life."""

    def __init__(self) -> None:
        super().__init__()
        self._log = silent_log()
        self.told = self._log.__enter__()
        self.world = World()
        self._made = 0

    def teardown(self) -> None:
        """Whatever happened: in the end every job ends."""
        try:
            if sys.exc_info()[0] is None:
                self.world.heal()
        finally:
            self.world.close()
            self._log.__exit__(None, None, None)

    @initialize(
        queues=st.lists(QUEUE, min_size=1, max_size=5), most=st.sampled_from([None, 1]), sighted=st.booleans()
    )
    def begin(self, queues: list[str], most: int | None, *, sighted: bool) -> None:
        """There is something to do."""
        self.world.sighted = sighted
        self.world.desk.enqueue(
            [NewJob(queue, "1", id=self._new_id(), max_attempts=most) for queue in queues]
        )
        self.world.live(0.5)

    @invariant()
    def promises_hold(self) -> None:
        """At any moment."""
        self.world.check()

    def _new_id(self) -> str:
        self._made += 1
        return f"{self._made:032x}"

    # Producers and people.

    @rule(
        queue=QUEUE,
        count=st.integers(1, 3),
        facts=st.fixed_dictionaries(
            {
                "delay": st.sampled_from([0.0, 0.0, 0.0, 2.0, 30.0]),
                "key": st.sampled_from([None, None, None, "a", "b"]),
                "max_attempts": MOST,
                "priority": st.integers(-1, 1),
                "payload": st.sampled_from(["1", STUBBORN]),
            }
        ),
        ill=st.sampled_from([None, None, None, None, *Ill]),
    )
    def enqueue(self, queue: str, count: int, facts: dict[str, Any], ill: Ill | None) -> None:
        """Jobs as programs and people add them."""
        self.world.producer.trouble = Trouble(ill, seconds=4.0) if ill else None
        jobs = [NewJob(queue, id=self._new_id(), **facts) for _ in range(count)]
        self._by_hand(lambda: self.world.desk.enqueue(jobs))

    @rule(
        what=st.sampled_from(VERBS) | st.sampled_from(sorted(ODD)),
        queue=QUEUE,
        some=st.booleans(),
    )
    def change_by_hand(self, what: str, queue: str, *, some: bool) -> None:
        """A person's verb, or plain SQL."""
        if what in ODD:
            self._insert(what)
            return
        states = frozenset({State.DEAD}) if what == "purge" else frozenset[State]()
        selection = Selection(queue=queue, states=states, limit=1 if some else None)
        desk = self.world.desk
        verb = partial(desk.kill, bury=True) if what == "bury" else getattr(desk, what)
        self._by_hand(lambda: verb(selection))

    def _insert(self, kind: str) -> None:
        world, job_id = self.world, self._new_id()
        queue, columns, values = ODD[kind]
        try:
            world.stranger.execute(
                f"INSERT INTO jobs (id, queue, run_at, {columns}) VALUES (?, ?, 1.0, {values})",
                (job_id, queue),
            )
        except apsw.ConstraintError:
            hold(kind in REFUSED or kind == "key not UTF-8", f"a row that is {kind} was refused")
            return
        hold(kind not in REFUSED, f"a row that is {kind} was taken")
        account = Account(job_id, queue, due=1.0, unfit=kind in UNFIT)
        if kind == "used up":
            account.attempts = 7
        elif kind == "a stranger's":
            account.attempts, account.token, account.boot = 1, "me", world.clock.boot()
        world.ledger.add(account)
        world.notice()

    def _by_hand(self, act: Callable[[], object]) -> None:
        with suppress(StoreBusy, StoreFailed, Killed):
            act()

    # Commands.

    @rule(worker=WORKER, end=END, seconds=st.sampled_from([0.0, 0.3, 5.0]))
    def end_command(self, worker: int, end: tuple[int | None, int | None], seconds: float) -> None:
        self.world.finish(self.world.worker(worker), code=end[0], signal=end[1])
        self.world.live(seconds)

    # Time.

    @rule(seconds=SECONDS)
    def live(self, seconds: float) -> None:
        self.world.live(seconds)

    @rule(seconds=SECONDS)
    def pass_time(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    @rule(worker=WORKER)
    def step(self, worker: int) -> None:
        self.world.step(self.world.worker(worker))

    # What goes wrong.

    @rule(worker=WORKER, seen=st.booleans())
    def crash(self, worker: int, *, seen: bool) -> None:
        process = self.world.worker(worker)
        self.world.crash(process, seen=seen)
        self.world.live(0.5)
        if seen:
            self.world.check_replaced(process)

    @rule(
        worker=WORKER,
        ill=ILL,
        verb=VERB,
        seconds=st.sampled_from([1.0, 5.0, 8.0, 15.0]),
        meanwhile=st.sampled_from(Meanwhile),
    )
    def trouble(self, worker: int, ill: Ill, verb: str, seconds: float, meanwhile: Meanwhile) -> None:
        """The next write of a worker goes wrong."""
        self.world.worker(worker).trouble = Trouble(ill, (verb,) if verb else (), seconds, meanwhile)

    @rule(
        worker=WORKER,
        queue=QUEUE,
        ill=st.sampled_from([Ill.DEATH_AFTER, Ill.STOP_BEFORE, Ill.STOP_AFTER, Ill.STOP_AFTER]),
        meanwhile=st.sampled_from(Meanwhile),
        more=st.booleans(),
    )
    def trouble_at_claim(
        self, worker: int, queue: str, ill: Ill, meanwhile: Meanwhile, *, more: bool
    ) -> None:
        """A worker gets its next job, and does not come back from that as it was."""
        process = self.world.workers[worker]
        # Longer than two of the leases, and not so long that the parent would end it as it stands.
        process.trouble = Trouble(ill, ("claim", "settle"), 9.0, meanwhile)
        jobs = [NewJob(queue, "1", id=self._new_id()) for _ in range(WORKERS if more else 1)]
        self._by_hand(lambda: self.world.desk.enqueue(jobs))
        self.world.finish(process, code=0)
        self.world.live(0.5)

    @rule(ill=ILL, verb=st.sampled_from(["", "expire_leases", "expire_leases", "daemon_started"]))
    def trouble_steward(self, ill: Ill, verb: str) -> None:
        self.world.steward.trouble = Trouble(ill, (verb,) if verb else (), 5.0)

    @rule(seconds=st.sampled_from([1.0, 5.0, 12.0]))
    def lock(self, seconds: float) -> None:
        self.world.locked_until = self.world.clock.awake() + seconds

    @rule(worker=WORKER, seconds=SECONDS)
    def stall(self, worker: int, seconds: float) -> None:
        self.world.stop(self.world.worker(worker))
        self.world.live(seconds)

    @rule(worker=st.integers(0, WORKERS - 1))
    def go_on(self, worker: int) -> None:
        self.world.go_on(self.world.workers[worker])

    @rule(
        worker=WORKER,
        then=st.sampled_from(["runs", "succeeds", "fails", "fails", "was brought back"]),
        seconds=st.sampled_from([3.0, 9.0, 15.0, 15.0]),
        free=st.sampled_from([True, True, False]),
    )
    def overtake(self, worker: int, then: str, seconds: float, *, free: bool) -> None:
        """A worker stands still with its command, past its lease; others take over; it goes on."""
        brought_back = then == "was brought back"
        process = self.world.worker(worker, last=brought_back)
        self.world.freeze(process)
        if free or brought_back:
            self.world.finish_all_but(process)
        self.world.live(seconds)
        run = process.run
        if run is not None and brought_back:
            # It had died meanwhile, of its last attempt.
            self._by_hand(lambda: self.world.desk.retry(Selection(queue=run.queue.name)))
        if run is not None and then != "runs":
            run.finish(0 if then == "succeeds" else 1)
        self.world.go_on(process)
        self.world.live(0.1)

    @rule(worker=WORKER, how=st.sampled_from([Worker.drain, Worker.drain, Worker.stop]))
    def leave(self, worker: int, how: Callable[[Worker], None]) -> None:
        self.world.tell(self.world.worker(worker), how)
        self.world.live(0.5)

    @rule(queue=QUEUE, lasting=st.booleans())
    def break_command(self, queue: str, *, lasting: bool) -> None:
        """A queue's command cannot be started any more, or can again."""
        refusals = self.world.theatre.refusals
        if refusals.pop(queue, None) is None:
            refusals[queue] = Refusal(Ended.NOT_STARTED, "none to be had", lasting=lasting)
            self.world.live(0.5)

    @rule(what=st.sampled_from(sorted(CHANGES)))
    def change_machine(self, what: str) -> None:
        """Something befalls all of them."""
        CHANGES[what](self.world)
        self.world.live(0.5)


def found_within(
    examples: int, *, steps: int = 40, derandomize: bool = True, shrink: bool = False
) -> settings:
    """How long to look, and how."""
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        derandomize=derandomize,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
