"""What follows from a run: the verdict on a job, and how long to wait before the next attempt. Pure."""

import math
import random
import signal

from sqlqd.model import (
    Backoff,
    Bury,
    Cancel,
    Claim,
    Done,
    Ended,
    Outcome,
    Policy,
    Release,
    Retry,
    Verdict,
)
from sqlqd.units import spell

PASSING_PAUSE = 5.0
"""Seconds before a job is tried again that found no process or descriptor to be had."""

FIRST_BLOCK = 5.0
LONGEST_BLOCK = 300.0

_NEVER = 1e9
"""Seconds; a longer wait than this is not told from one without an end, and rows hold no such times."""

_SIGNAL_STATUS = 128
"""What a shell adds to a signal's number to make an exit status of it."""

_NAMED_SIGNALS = frozenset(int(named) for named in signal.Signals)


def judge(outcome: Outcome, claim: Claim, policy: Policy, now: float, rng: random.Random) -> Verdict:
    """What becomes of a job whose run ended so. `now` in Unix seconds; LEASE_LOST has no verdict."""
    match outcome.how:
        case Ended.EXITED if outcome.code in policy.success_codes:
            return Done()
        case Ended.EXITED | Ended.SIGNALLED | Ended.TIMED_OUT | Ended.KILLED:
            return _failed(outcome, claim, policy, now, rng)
        case Ended.UNFIT | Ended.BURIED:
            return Bury(reason(outcome))
        case Ended.INTERRUPTED:
            return Release(reason(outcome))
        case Ended.CANCELLED:
            return Cancel()
        case Ended.NOT_STARTED:
            return _not_started(outcome, claim, now)
        case Ended.LEASE_LOST:
            raise ValueError("a lost claim is nobody's to judge")


def reason(outcome: Outcome) -> str:
    """Why a run was no success, in a few words for a person."""
    match outcome.how:
        case Ended.EXITED:
            return _exit(outcome.code or 0)
        case Ended.SIGNALLED:
            named = f"killed by {signal_name(outcome.signal or 0)}"
            return f"{named} ({outcome.detail})" if outcome.detail else named
        case Ended.KILLED | Ended.BURIED:
            return "killed"
        case _:
            return outcome.detail or outcome.how.value


def signal_name(number: int) -> str:
    """The signal's name, or its number where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def backoff(rule: Backoff, failures: int, rng: random.Random) -> float:
    """Seconds to wait after that many failures (1: the first), never less than 0 nor out of range.

    Jitter comes after the cap, so that capped jobs spread too.
    """
    capped = _capped(rule, max(failures, 1) - 1)
    return max(0.0, capped * (1.0 + rule.jitter * rng.uniform(-1.0, 1.0)))


def block_pause(blocks: int) -> float:
    """Seconds to hold a queue whose command could not be started `blocks` times before."""
    return min(LONGEST_BLOCK, FIRST_BLOCK * 2.0 ** min(max(blocks, 0), 10))


def _failed(outcome: Outcome, claim: Claim, policy: Policy, now: float, rng: random.Random) -> Verdict:
    why = reason(outcome)
    if outcome.how is Ended.EXITED and outcome.retry_after is not None:
        asked = f"{why}, and asked to be tried again in {spell(outcome.retry_after)}"
        return Release(asked, at=now + outcome.retry_after, told=True)
    if outcome.how is Ended.EXITED and outcome.code in policy.dead_codes:
        return Bury(f"{why}, which is not tried again")
    if claim.job.attempts >= claim.max_attempts:
        return Bury(why)
    return Retry(now + backoff(policy.backoff, claim.job.attempts, rng), why)


def _not_started(outcome: Outcome, claim: Claim, now: float) -> Release:
    if not outcome.lasting:
        return Release(reason(outcome), at=now + PASSING_PAUSE)
    pause = block_pause(claim.blocks)
    # The queue waits, not the job: once the command is mended it can start at once.
    return Release(reason(outcome), block=pause)


def _capped(rule: Backoff, exponent: int) -> float:
    cap = min(rule.max, _NEVER)
    if rule.initial >= cap:
        return cap
    if rule.initial <= 0.0 or rule.factor <= 1.0:
        return max(0.0, rule.initial)
    # Compared as logarithms: the power itself overflows a float at the thousandth attempt.
    if math.log(rule.initial) + exponent * math.log(rule.factor) >= math.log(cap):
        return cap
    return min(cap, rule.initial * rule.factor**exponent)


def _exit(code: int) -> str:
    if code - _SIGNAL_STATUS in _NAMED_SIGNALS:
        return f"exit {code} (perhaps {signal_name(code - _SIGNAL_STATUS)})"
    return f"exit {code}"
