"""Faults to plant into the product, each a mistake that somebody could make."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sqlqd import policy, worker
from sqlqd.model import Ask, Ended, Outcome, Release, Retry
from sqlqd.parent import plan
from sqlqd.parent.plan import Limit
from sqlqd.steward.chores import Chores
from sqlqd.store import claiming, desk, leases, requests, turns
from sqlqd.store import statements as sql
from sqlqd.store.sqlite import SqliteStore
from sqlqd.worker import errand

Plant = Callable[[pytest.MonkeyPatch], None]


def _statement(name: str, old: str, new: str) -> Plant:
    """Another text in one statement."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        text: str = getattr(sql, name)
        assert old in text, f"{name} has changed: plant the fault anew"
        patch.setattr(sql, name, text.replace(old, new))

    return plant


_BY_ID_ALONE = ("locked_by = ?", "? IS NOT NULL")


def _no_heir(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SqliteStore, "_bury_workers", lambda *_: [])


def _lease_without_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(leases, "overdue", lambda *_: [])


def _leases_by_the_wall(patch: pytest.MonkeyPatch) -> None:
    past = "SELECT rowid, 1 FROM jobs WHERE locked_by IS NOT NULL AND lost = 0 AND locked_until <= ? LIMIT ?"

    def overdue(database: Any, now: Any, limit: int = 500) -> Any:
        return database.all(past, (now.wall, limit))

    patch.setattr(leases, "overdue", overdue)


def _last_attempt_not_buried(patch: pytest.MonkeyPatch) -> None:
    real = claiming._why_never

    def why_never(row: Any, rules: Any) -> str | None:
        return None if row.lost and row.crashes < rules.max_crashes else real(row, rules)

    patch.setattr(claiming, "_why_never", why_never)


def _too_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(claiming, "due_row", lambda _database, _rules, head, _now: head.rowid)


def _no_concurrency(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(claiming, "room", lambda *_, **__: 1)


def _no_patience(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Chores, "hold_off", lambda _: None)


def _settles_what_is_lost(patch: pytest.MonkeyPatch) -> None:
    real = errand.Errand._close

    def close(self: errand.Errand, outcome: Outcome, halt: errand.Halt) -> None:
        if outcome.how is Ended.LEASE_LOST:
            outcome = replace(outcome, how=Ended.EXITED, code=1)
        real(self, outcome, halt)

    patch.setattr(errand.Errand, "_close", close)


def _starts_late(patch: pytest.MonkeyPatch) -> None:
    def started(self: errand.Errand) -> Any:
        return self._bench.commands.start(self._claim, self._queue)

    patch.setattr(errand.Errand, "_started", started)


def _blind_parent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(plan, "limit", lambda *_: Limit())


def _unknown_lease(patch: pytest.MonkeyPatch) -> None:
    real = errand.Errand._stamp

    def stamp(self: errand.Errand, lease_end: float, *, busy: bool) -> None:
        real(self, 0.0, busy=busy)

    patch.setattr(errand.Errand, "_stamp", stamp)


def _stop_costs(patch: pytest.MonkeyPatch) -> None:
    def judge(outcome: Outcome, *others: Any) -> Any:
        verdict = policy.judge(outcome, *others)
        return Retry(others[2], "stopped") if isinstance(verdict, Release) else verdict

    patch.setattr(errand, "judge", judge)


def _claims_while_leaving(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(worker.Worker, "_must_not_claim", lambda _: False)


def _old_attempts(patch: pytest.MonkeyPatch) -> None:
    assert "created_at, 0, max_attempts" in desk._REVIVE
    revive = desk._REVIVE.replace("created_at, 0, max_attempts", "created_at, attempts, max_attempts")
    patch.setattr(desk, "_REVIVE", revive)


def _cancels_what_runs(patch: pytest.MonkeyPatch) -> None:
    def end(database: Any, placed: Any, now: Any) -> None:
        requests.end(database, placed.place.row, placed.record.queue, Ask.CANCEL, now.wall)

    patch.setattr(desk, "_CANCEL", desk._CANCEL._replace(acts=end))


def _request_dies_with_its_worker(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(requests, "of_row", lambda *_: None)


def _held_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(turns.Head, "closed_until", lambda self, *_: float("inf") if self.blocks else None)


PLANTED: dict[str, Plant] = {
    "a job is finished by its id alone": _statement("DELETE_HELD", *_BY_ID_ALONE),
    "a job is given back by its id alone": _statement("GIVE_BACK", *_BY_ID_ALONE),
    "a job is buried by its id alone": _statement("HELD_ROW", *_BY_ID_ALONE),
    "a lease is renewed by the id alone": _statement("RENEW", *_BY_ID_ALONE),
    "attempts count when they fail": _statement("GIVE", "attempts = attempts + 1", "attempts = attempts"),
    "a release gives back two attempts": _statement("GIVE_BACK", "attempts - ?", "attempts - 2 * ?"),
    "a release gives back none": _statement("GIVE_BACK", "attempts - ?", "attempts - 0 * ?"),
    "a retry comes at once": _statement(
        "GIVE_BACK", "coalesce(?, run_at)", "min(run_at, coalesce(?, run_at))"
    ),
    "a buried job stays": _statement("DELETE_ROW", "rowid = ?", "rowid = ? AND 0"),
    "a crash does not count": _statement("END_LEASE", "crashes + ?", "crashes + 0 * ?"),
    "the living lose their leases with the dead": _statement("HELD_BY_UID", "?1 || '/'", "'0'"),
    "a replacement ends no lease": _no_heir,
    "leases outlive a reboot": _statement("OVER_BEFORE_BOOT", "lost = 0", "lost = 2"),
    "a lease never ends": _lease_without_end,
    "leases end by the wall clock": _leases_by_the_wall,
    "a last attempt that was lost is given out again": _last_attempt_not_buried,
    "a job comes before its time": _too_early,
    "a queue's limit is not heeded": _no_concurrency,
    "leases end at once after a failed write": _no_patience,
    "a lost claim is settled": _settles_what_is_lost,
    "a command is started under an old lease": _starts_late,
    "the parent does not look at leases": _blind_parent,
    "the worker does not stamp its lease": _unknown_lease,
    "a stop costs an attempt": _stop_costs,
    "a worker that leaves goes on claiming": _claims_while_leaving,
    "a dead job keeps its attempts": _old_attempts,
    "a running job is taken away": _cancels_what_runs,
    "a job that was cancelled while its worker died runs again": _request_dies_with_its_worker,
    "a blocked queue stays so": _held_for_ever,
}
