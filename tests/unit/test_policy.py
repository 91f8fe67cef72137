"""Verdicts, wording of reasons, and waits at any attempt number."""

import math
import random
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlqd.model import (
    Backoff,
    Bury,
    Cancel,
    Claim,
    Done,
    Ended,
    Job,
    Outcome,
    Policy,
    Release,
    Retry,
)
from sqlqd.policy import LONGEST_BLOCK, backoff, block_pause, judge, reason

NOW = 1_800_000_000.0
STEADY = Policy(Backoff(initial=10.0, factor=2.0, max=3600.0, jitter=0.0))


def claim(*, attempts: int = 1, max_attempts: int = 20, blocks: int = 0) -> Claim:
    job = Job("0" * 32, "mail", "", 0, NOW, attempts, None, None, NOW, None)
    return Claim(job, "token", max_attempts, NOW, NOW + 30, 30.0, 86_400.0, blocks)


def outcome(how: Ended, code: int | None = None, number: int | None = None, **more: object) -> Outcome:
    return Outcome(how, NOW, 1.0, code, number, **more)  # type: ignore[arg-type]  # a test's own fields


def verdict(end: Outcome, **of_claim: int) -> object:
    return judge(end, claim(**of_claim), STEADY, NOW, random.Random(1))


def test_exit_zero_is_done() -> None:
    assert verdict(outcome(Ended.EXITED, 0)) == Done()


@pytest.mark.parametrize("code", [1, 2, 44, 126, 127, 255])
def test_any_other_exit_is_tried_again(code: int) -> None:
    assert verdict(outcome(Ended.EXITED, code)) == Retry(NOW + 10.0, f"exit {code}")


def test_the_last_attempt_buries() -> None:
    assert verdict(outcome(Ended.EXITED, 7), attempts=20) == Bury("exit 7")
    assert verdict(outcome(Ended.EXITED, 7), attempts=19) == Retry(NOW + 3600.0, "exit 7")


def test_an_unfit_job_is_buried_at_once() -> None:
    assert verdict(outcome(Ended.UNFIT, detail="payload too large")) == Bury("payload too large")


def test_interrupted_is_released_at_once() -> None:
    assert verdict(outcome(Ended.INTERRUPTED, detail="the daemon stops")) == Release("the daemon stops")


def test_cancelled_is_cancelled() -> None:
    assert verdict(outcome(Ended.CANCELLED)) == Cancel()


def test_a_command_at_fault_holds_its_queue_ever_longer() -> None:
    end = outcome(Ended.NOT_STARTED, detail="no such file", lasting=True)
    first, later = verdict(end), verdict(end, blocks=3)
    assert first == Release("no such file", block=5.0)
    assert later == Release("no such file", block=40.0)


def test_a_passing_lack_holds_the_job_alone() -> None:
    assert verdict(outcome(Ended.NOT_STARTED, detail="no process")) == Release("no process", at=NOW + 5.0)


def test_a_lost_lease_cannot_be_judged() -> None:
    with pytest.raises(ValueError, match="nobody's"):
        verdict(outcome(Ended.LEASE_LOST))


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (outcome(Ended.EXITED, 75), "exit 75"),
        (outcome(Ended.EXITED, 137), "exit 137 (perhaps SIGKILL)"),
        (outcome(Ended.EXITED, 160), "exit 160"),
        (outcome(Ended.SIGNALLED, None, signal.SIGKILL), "killed by SIGKILL"),
        (outcome(Ended.SIGNALLED, None, 40), "killed by signal 40"),
        (outcome(Ended.TIMED_OUT, None, signal.SIGTERM, detail="timeout after 600 s"), "timeout after 600 s"),
        (outcome(Ended.LEASE_LOST), "lease lost"),
    ],
)
def test_reasons_name_what_happened(end: Outcome, words: str) -> None:
    assert reason(end) == words


def test_waits_double_up_to_the_cap() -> None:
    rule = STEADY.backoff
    waits = [backoff(rule, failures, random.Random(1)) for failures in range(1, 12)]
    assert waits == [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]


positive = st.floats(0.0, 1e6, allow_nan=False)


@given(
    initial=positive,
    factor=st.floats(0.0, 1e3),
    cap=st.one_of(positive, st.just(math.inf)),
    jitter=st.floats(0.0, 1.0),
    failures=st.integers(-1, 10**9),
)
def test_no_rule_and_no_attempt_number_breaks_the_wait(
    initial: float, factor: float, cap: float, jitter: float, failures: int
) -> None:
    rule = Backoff(initial, factor, cap, jitter)
    wait = backoff(rule, failures, random.Random(failures))
    assert 0.0 <= wait <= min(cap, 1e9) * (1 + jitter)


def test_jitter_spreads_capped_waits() -> None:
    rule = Backoff(10.0, 2.0, 3600.0, 0.25)
    rng = random.Random(1)
    waits = {backoff(rule, 5000, rng) for _ in range(100)}
    assert len(waits) == 100
    assert min(waits) >= 2700
    assert max(waits) <= 4500


def test_blocks_grow_to_five_minutes() -> None:
    pauses = [block_pause(blocks) for blocks in range(9)]
    assert pauses == [5, 10, 20, 40, 80, 160, LONGEST_BLOCK, LONGEST_BLOCK, LONGEST_BLOCK]
    assert block_pause(10**9) == LONGEST_BLOCK
