"""Each reason for which a job does not run, in its own words."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from sqlqd.circumstances import MOST_AHEAD, Circumstances, DaemonNow, Held, Stage
from sqlqd.model import LATEST, Ask, Attempt, Pause, Record, State, WorkerSeen
from sqlqd.moments import local
from sqlqd.why import Answer, why

NOW = 1_800_000_000.0
JOB = Record("8527e086d7d0c6bf", "mail", State.READY, 0, run_at=NOW - 1, created_at=NOW - 1, priority=0)
RUNNING = replace(JOB, state=State.RUNNING, attempts=2, claimed_at=NOW - 300)
DAEMON = DaemonNow(77, Stage.RUNNING, "/etc/sqlqd/sqlqd.toml")
IDLE = WorkerSeen("aa", 77, 1, 501, NOW - 900)
BUSY = WorkerSeen("bb", 77, 2, 502, NOW - 900, "f00dcafe0000", "mail", NOW - 60)
HELD = Held("bb/2/502/xyz", 20.0, lost=False, earlier_boot=False, asked=None)


def failed(number: int, error: str, code: int | None = None) -> Attempt:
    return Attempt(number, NOW - 20, NOW - 10, "exited", code, None, None, error, "bb/2/502/xyz")


def explained(seen: Circumstances, daemons: Sequence[DaemonNow]) -> Answer:
    return why(seen, daemons, "`sqlqd run -c here`")


def ask(job: Record = JOB, *daemons: DaemonNow, **facts: Any) -> Answer:
    """What is answered of a job in these circumstances; with one daemon where none is named."""
    facts = {"workers": (IDLE, BUSY), **facts}
    return explained(Circumstances(NOW, job, **facts), facts.pop("daemons", None) or daemons or (DAEMON,))


def codes(answer: Answer) -> list[str]:
    return [reason.code for reason in answer.reasons]


def test_done() -> None:
    job = replace(JOB, state=State.DONE, outcome="done", attempts=2, ended_at=NOW - 60, duration=3.2)
    answer = ask(job)
    assert codes(answer) == ["done"]
    assert answer.sentence == f"It is done since {local(NOW - 60)} (1min ago), by attempt 2, which took 3.2s."


def test_cancelled() -> None:
    answer = ask(replace(JOB, state=State.DONE, outcome="cancelled", ended_at=NOW - 60))
    assert codes(answer) == ["cancelled"]
    assert answer.sentence == f"It was cancelled {local(NOW - 60)} (1min ago)."


def test_dead() -> None:
    answer = ask(replace(JOB, state=State.DEAD, attempts=3, died_at=NOW - 60, reason="exit 7\nno route"))
    assert codes(answer) == ["dead"]
    assert f"dead since {local(NOW - 60)} (1min ago), after 3 attempts: exit 7 (" in answer.sentence
    assert "`sqlqd retry 8527e086d7d0`" in answer.sentence


def test_it_runs() -> None:
    answer = ask(RUNNING, held=HELD)
    assert codes(answer) == ["running"]
    assert answer.sentence == (
        f"It runs since {local(NOW - 300)} (5min ago): worker 2 (pid 502) is at attempt 2, under a lease "
        f"until {local(NOW + 20)} (in 20s) that it renews."
    )
    numbers = answer.reasons[0].numbers
    assert (numbers["worker"], numbers["pid"], numbers["running_seconds"]) == (2, 502, 300.0)


@pytest.mark.parametrize(
    ("asked", "said"), [(Ask.KILL, "kill this attempt"), (Ask.BURY, "dead jobs"), (Ask.CANCEL, "cancel it")]
)
def test_somebody_asked_for_its_end(asked: Ask, said: str) -> None:
    answer = ask(RUNNING, held=replace(HELD, asked=asked))
    assert codes(answer) == ["ending"]
    assert said in answer.sentence
    assert "until all of it has ended worker 2 (pid 502) has it" in answer.sentence


def test_its_holder_is_gone_and_its_lease_lasts() -> None:
    answer = ask(RUNNING, held=replace(HELD, token="cc/3/503/xyz"))
    assert codes(answer) == ["holder_gone"]
    assert f"worker 3 (pid 503), which is gone, until {local(NOW + 20)} (in 20s)" in answer.sentence
    assert codes(explained(Circumstances(NOW, RUNNING, held=HELD), ())) == ["holder_gone", "no_daemon"]


@pytest.mark.parametrize(
    ("token", "who"), [("cc/0/503/x", "A program of its own (pid 503)"), ("me", "Another program (me)")]
)
def test_another_program_holds_it(token: str, who: str) -> None:
    answer = explained(Circumstances(NOW, RUNNING, held=replace(HELD, token=token)), ())
    assert codes(answer) == ["held_elsewhere"]
    assert answer.sentence == f"{who} holds it under a lease until {local(NOW + 20)} (in 20s)."


def test_its_lease_is_over() -> None:
    answer = ask(RUNNING, held=replace(HELD, left=-7.0))
    assert codes(answer) == ["lease_over"]
    assert "over since 7s without having been renewed" in answer.sentence
    assert codes(explained(Circumstances(NOW, RUNNING, held=replace(HELD, left=-7.0)), ()))[1:] == [
        "no_daemon"
    ]


def test_its_lease_is_of_an_earlier_boot_or_makes_no_sense() -> None:
    assert "earlier boot" in ask(RUNNING, held=replace(HELD, left=None, earlier_boot=True)).sentence
    assert "makes no sense" in ask(RUNNING, held=replace(HELD, left=None)).sentence


def test_its_lease_was_lost() -> None:
    job = replace(JOB, attempts=2, crashes=1, history=(failed(2, "the worker died"),))
    answer = ask(job, held=replace(HELD, lost=True))
    assert codes(answer) == ["lost", "next"]
    assert "lost its lease in attempt 2 (the worker died) and waits to be taken over" in answer.sentence


def test_it_waits_after_a_failure() -> None:
    job = replace(JOB, state=State.SCHEDULED, run_at=NOW + 192, attempts=2)
    answer = ask(replace(job, history=(failed(1, "exit 1", 1), failed(2, "exit 75\nbusy", 75))))
    assert codes(answer) == ["backoff"]
    due = f"It is due in 3min 12s, at {local(NOW + 192)}, after attempt 2 failed"
    assert answer.sentence == f"{due} with exit 75."
    assert answer.reasons[0].numbers["due_in_seconds"] == 192.0
    assert answer.reasons[0].numbers["exit_code"] == 75
    killed = ask(replace(job, history=(failed(2, "killed by SIGKILL"),)))
    assert killed.sentence == f"{due} (killed by SIGKILL)."


def test_it_was_enqueued_for_later() -> None:
    answer = ask(replace(JOB, state=State.SCHEDULED, run_at=NOW + 3600))
    assert codes(answer) == ["scheduled"]
    assert answer.sentence.startswith(
        f"It is due in 1h, at {local(NOW + 3600)}, as it was enqueued for then."
    )


def test_what_it_said_last_may_be_longer_than_what_is_remembered_of_the_attempt() -> None:
    later = replace(JOB, state=State.SCHEDULED, run_at=NOW + 60, attempts=1)
    assert codes(ask(replace(later, last_error="exit 1\nall", history=(failed(1, "exit 1\nl", 1),)))) == [
        "backoff"
    ]


def test_its_command_put_it_off() -> None:
    said = "exit 75, and asked to be tried again in 1h"
    later = replace(JOB, state=State.SCHEDULED, run_at=NOW + 3600, last_error=f"{said}\nbusy")
    counted = replace(later, attempts=1, history=(failed(1, "exit 1", 1),))
    for job in (later, counted):
        answer = ask(job)
        assert codes(answer) == ["put_off"]
        assert answer.sentence.startswith(
            f"It is due in 1h, at {local(NOW + 3600)}, as its command put it off: {said}."
        )


def test_the_last_of_times_is_a_time_where_no_other_job_has_its_turn() -> None:
    last = replace(JOB, state=State.SCHEDULED, run_at=LATEST)
    assert codes(ask(last)) == ["scheduled"]
    assert codes(ask(last, turn_of="f00dcafe00001234")) == ["key_taken"]


def test_no_daemon_runs() -> None:
    answer = explained(Circumstances(NOW, JOB), ())
    assert codes(answer) == ["no_daemon"]
    assert answer.sentence == "No daemon is running (`sqlqd run -c here` starts one)."


@pytest.mark.parametrize(
    ("stage", "said"),
    [
        (Stage.STOPPING, "The daemon (pid 77) is stopping and starts no more jobs."),
        (Stage.STARTING, "The daemon (pid 77) is still starting."),
    ],
)
def test_the_daemon_does_not_work_at_this_moment(stage: Stage, said: str) -> None:
    answer = ask(JOB, replace(DAEMON, stage=stage))
    assert codes(answer) == [stage.value]
    assert answer.sentence == said


def test_its_queue_is_not_configured() -> None:
    answer = ask(JOB, replace(DAEMON, serves=False))
    assert codes(answer) == ["not_configured"]
    assert answer.sentence == (
        "Its queue mail is not configured: there is no [queues.mail] in /etc/sqlqd/sqlqd.toml."
    )
    assert codes(ask(JOB, replace(DAEMON, serves=False), replace(DAEMON, pid=78))) != ["not_configured"]
    assert codes(ask(JOB, replace(DAEMON, serves=None))) == ["next"]


def test_its_queue_may_not_have_been_loaded_yet() -> None:
    job = replace(JOB, run_at=NOW - 60, created_at=NOW - 60)
    answer = ask(job, replace(DAEMON, outdated=True))
    assert codes(answer) == ["not_loaded"]
    assert "`kill -HUP 77`" in answer.sentence


def test_its_queue_is_paused() -> None:
    answer = ask(pauses=(Pause("mail", NOW - 300),))
    assert codes(answer) == ["paused"]
    since = f"Its queue is paused since {local(NOW - 300)} (5min ago)"
    assert answer.sentence == f"{since}, until `sqlqd resume mail`."
    until = ask(pauses=(Pause("mail", NOW - 300, NOW + 60),))
    assert until.sentence == f"{since}, until {local(NOW + 60)} (in 1min) or `sqlqd resume mail`."


def test_all_queues_are_paused() -> None:
    answer = ask(pauses=(Pause("", NOW - 300),))
    assert codes(answer) == ["all_paused"]
    assert answer.sentence.endswith("until `sqlqd resume --all`.")


def test_its_command_cannot_be_started() -> None:
    answer = ask(blocked_until=NOW + 40, blocked_reason="cannot start /bin/mial: no such file")
    assert codes(answer) == ["blocked"]
    assert answer.sentence == (
        "Its queue is held for another 40s, since its command cannot be started: /bin/mial: no such file "
        "(once that is mended: `sqlqd retry --queue mail`)."
    )


def test_all_slots_of_its_queue_are_taken() -> None:
    two = replace(DAEMON, concurrency=2)
    answer = ask(JOB, two, leased=2, holders=("f00dcafe00001111", "abad1dea0000"), ahead=1)
    assert codes(answer) == ["full"]
    assert answer.sentence == (
        "All 2 slots of its queue are taken, by f00dcafe0000, abad1dea0000, and 1 job of its queue is ahead "
        "of it."
    )
    one = ask(JOB, replace(DAEMON, concurrency=1), leased=1, holders=("f00dcafe",))
    assert one.sentence == "The only slot of its queue is taken, by f00dcafe."
    assert "by f00dcafe and 4 more" in ask(JOB, two, leased=5, holders=("f00dcafe",)).sentence
    assert codes(ask(JOB, two, leased=1)) == ["next"]


def test_all_workers_are_busy() -> None:
    answer = ask(workers=(BUSY, replace(BUSY, slot=3)), ahead=12, rivals=3)
    assert codes(answer) == ["busy"]
    assert answer.sentence == (
        "All 2 workers are busy, and 12 jobs of its queue are ahead of it; 3 other queues take turns with it."
    )
    assert ask(workers=(BUSY,)).sentence == "The only worker is busy."
    assert f"more than {MOST_AHEAD} jobs" in ask(workers=(BUSY,), ahead=MOST_AHEAD).sentence
    # Another daemon's idle worker does not help where that one does not serve the queue.
    other = replace(DAEMON, pid=78, serves=False)
    assert codes(ask(JOB, DAEMON, other, workers=(BUSY, replace(IDLE, daemon_pid=78)))) == ["busy"]


def test_no_worker_is_up() -> None:
    assert ask(workers=()).sentence == "The daemon (pid 77) has no worker up."


def test_it_is_next() -> None:
    answer = ask()
    assert codes(answer) == ["next"]
    assert answer.sentence == "Nothing holds it up: it is due, and 1 of 2 workers has nothing to do."
    assert ask(ahead=5).sentence == (
        "It is due, 5 jobs of its queue are ahead of it, and 1 of 2 workers has nothing to do."
    )


def test_it_should_have_been_taken() -> None:
    answer = ask(replace(JOB, run_at=NOW - 60, created_at=NOW - 60))
    assert codes(answer) == ["overdue"]
    assert "due since 1min and 1 of 2 workers has nothing to do, which is not as it should" in answer.sentence


def test_several_reasons_are_all_told() -> None:
    job = replace(JOB, state=State.SCHEDULED, run_at=NOW + 60)
    answer = explained(Circumstances(NOW, job, pauses=(Pause("", NOW - 1), Pause("mail", NOW - 1))), ())
    assert codes(answer) == ["scheduled", "no_daemon", "all_paused", "paused"]
    assert "; besides, no daemon is running (" in answer.sentence
    assert answer.sentence.count(".") - answer.sentence.count("...") == 1


def test_no_words_of_others_break_the_line() -> None:
    job = replace(JOB, state=State.DEAD, died_at=NOW, reason="a\x1b[2J" + "b" * 5000, queue="q\n")
    sentence = ask(job).sentence
    assert sentence.isprintable()
    assert len(sentence) < 500
    odd = replace(JOB, run_at=None, created_at=None, priority=None)
    assert ask(odd).sentence
    assert ask(replace(odd, state=State.SCHEDULED)).sentence
    assert ask(replace(RUNNING, claimed_at=None), held=HELD).sentence


def test_its_queue_is_held_after_failures_in_a_row() -> None:
    answer = ask(blocked_until=NOW + 90, failures=5)
    assert codes(answer) == ["broken"]
    assert answer.sentence == (
        "Its queue is held for another 1min 30s, since 5 attempts failed one after the other; "
        "then one job is tried."
    )


def test_its_queues_rate_lets_it_wait() -> None:
    answer = ask(rated_until=NOW + 6, ahead=2)
    assert codes(answer) == ["rated"]
    assert answer.sentence == (
        "Its queue's rate lets the next job start in 6s, and 2 jobs of its queue are ahead of it."
    )


def test_another_job_of_its_key_has_its_turn() -> None:
    answer = ask(turn_of="f00dcafe00001234")
    assert codes(answer) == ["key_taken"]
    assert answer.sentence == "Another job of its key, f00dcafe0000, has its turn."
