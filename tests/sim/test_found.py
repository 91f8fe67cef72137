"""What the simulation found, told in the order in which it happens."""

from collections.abc import Iterator

import pytest

from sqlqd.command.launch import Refusal
from sqlqd.model import Ended, NewJob
from tests.sim.edge import Ill, Trouble
from tests.sim.ground import silent_log
from tests.sim.ledger import Account
from tests.sim.world import World


@pytest.fixture
def world() -> Iterator[World]:
    with silent_log():
        made = World()
        yield made
        made.close()


def _add(world: World, queue: str) -> str:
    return world.desk.enqueue([NewJob(queue, "1", id="1" * 32)])[0].id


def test_a_worker_that_stood_still_after_its_claim_leaves_the_job_to_others(world: World) -> None:
    world.live(1.0)
    late = world.workers[0]
    for other in world.workers[1:]:
        world.stop(other)
    late.trouble = Trouble(Ill.STOP_AFTER, ("claim",), seconds=9.0)
    job = _add(world, "plain")
    world.step(world.steward)
    for other in world.workers[1:]:
        world.go_on(other)
    world.live(5.0)
    world.check()
    (running,) = [one for one in world.theatre.executions if one.alive]
    assert running.claim.id == job
    assert running.claim.attempts == 2
    assert running is not late.run
    world.heal()


def test_a_steward_that_waited_for_the_lock_lets_the_holders_come_first(world: World) -> None:
    world.live(1.0)
    # Past its time by the wall clock, as another program made it.
    statement = "INSERT INTO jobs (id, queue, locked_by, locked_until) VALUES ('a', 'plain', 'me', 1.0)"
    world.stranger.execute(statement)
    world.ledger.add(Account("a", "plain", due=0.0, token="me", boot=world.clock.boot()))
    world.locked_until = world.clock.awake() + 5.0
    world.crash(world.steward, seen=True)
    world.live(7.0)
    lost = "SELECT lost FROM jobs WHERE id = 'a'"
    assert world.stranger.execute(lost).get == 0
    world.live(6.0)
    assert world.ledger.jobs["a"].token != "me"
    world.heal()


def test_a_clock_that_is_set_back_does_not_hold_a_blocked_queue_for_an_hour(world: World) -> None:
    world.theatre.refusals["plain"] = Refusal(Ended.NOT_STARTED, "no such program", lasting=True)
    _add(world, "plain")
    world.live(2.0)
    world.clock.pass_by(20.0)
    world.clock.step_wall(-3600.0)
    world.theatre.refusals.clear()
    new = world.desk.enqueue([NewJob("plain", "1", id="2" * 32)])[0].id
    world.live(5.0)
    assert [one.claim.id for one in world.theatre.executions] == [new]
    world.heal()
