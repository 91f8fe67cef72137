"""Ending leases for their holders. A job whose lease was ended is lost: the next claim may take it."""

from collections.abc import Collection
from dataclasses import replace

from sqlqd.model import Ask, Claim, Lease, Lost
from sqlqd.store import requests
from sqlqd.store import statements as sql
from sqlqd.store.database import Database, Moment, Row, Values
from sqlqd.store.ledger import KEPT_ATTEMPTS, SLOT, bury

_AT_ONCE = 500
"""Leases ended in one transaction."""

_OF_ANOTHER_BOOT = "it ran before the machine was started anew, or when a backup was made"

_LONGEST_FOREIGN = 86_400.0
"""Seconds from now that another program's lease may end: it has no boot whose clock would tell."""


def overdue(database: Database, now: Moment, limit: int = _AT_ONCE) -> list[Row]:
    """Leases that are over, as rows of (rowid, whether that counts as a crash): a reboot is nobody's."""
    boot = database.clock.boot()
    searches: tuple[tuple[str, Values], ...] = (
        (sql.OVER_AWAKE, (boot, now.awake, limit)),
        (sql.OVER_FOREIGN, (now.wall, limit)),
        (sql.OVER_FAR, (now.wall + _LONGEST_FOREIGN, limit)),
        (sql.OVER_ODD, (boot, limit)),
        (sql.OVER_BEFORE_BOOT, (boot, limit)),
        (sql.OVER_AFTER_BOOT, (boot, limit)),
    )
    return [row for statement, values in searches for row in database.all(statement, values)][:limit]


def holders(database: Database, over: list[Row]) -> list[Lease]:
    """The same leases by their jobs and tokens."""
    rows = (database.one(sql.HOLDER_OF, (rowid,)) for rowid, _ in over)
    return [Lease(*(text.decode(errors="replace") for text in row)) for row in rows if row is not None]


def among(database: Database, over: list[Row], tokens: Collection[str]) -> list[Row]:
    """Those of the leases that have one of the tokens."""
    pairs = zip(over, holders(database, over), strict=True)
    return [row for row, lease in pairs if lease.token in tokens]


def is_nobodys(database: Database, rowid: int, now: Moment) -> bool:
    """Whether a row is held by a lease that nobody minds: people may free it at once.

    Not so one of our own that is over: something may still run for it, and only a daemon sees to its end.
    """
    values = (rowid, database.clock.boot(), now.wall, _LONGEST_FOREIGN)
    return database.one(sql.IS_NOBODYS, values) is not None


def held_by(database: Database, uid: str) -> list[Row]:
    """The leases of one process, in the same form."""
    return database.all(sql.HELD_BY_UID, (uid,))


def end(database: Database, leases: list[Row], reason: str, now: float) -> list[Lost]:
    """End them. `locked_by` stays: the holder may still settle until somebody claims the job.

    What a person asked of a job is done to it here, since its holder does it no more. A row that came past
    the schema's checks can only be buried.
    """
    return [_end(database, lease, reason, now) for lease in leases]


def _end(database: Database, lease: Row, reason: str, now: float) -> Lost:
    rowid, crashed = lease
    reason = reason if crashed else _OF_ANOTHER_BOOT
    name, queue, attempts = database.one(sql.LOST_JOB, (rowid,)) or (b"", b"", 0)
    lost = Lost(
        name.decode(errors="replace"),
        queue.decode(errors="replace"),
        attempts if isinstance(attempts, int) else 0,
        reason,
    )
    asked = requests.of_row(database, rowid)
    if requests.end(database, rowid, lost.queue, asked, now):
        return replace(lost, gone=asked, reason=requests.KILLED)
    rule = database.refusal(sql.END_LEASE, (now, crashed, rowid))
    if rule is not None:
        _bury(database, rowid, lost.queue, rule, now)
        return replace(lost, gone=Ask.BURY, reason=f"the row is none that can run: {rule}")
    if crashed:
        database.run(sql.LOG_LOST, (rowid, now, reason))
        database.run(sql.TRIM_LOST, (rowid, KEPT_ATTEMPTS))
        database.run(sql.COUNT_LOST, (rowid, int(now // SLOT)))
    return lost


def _bury(database: Database, rowid: int, queue: str, rule: str, now: float) -> None:
    database.insist_on_sync()
    bury(database, rowid, queue, f"the row is none that can run: {rule}", now)


def renew(database: Database, claim: Claim, lease: float, now: Moment) -> Claim | None:
    """Another lease from now; None: somebody else has the job. Lost but not taken, it is ours again."""
    until, until_awake = now.wall + lease, now.awake + lease
    values = (until, database.clock.boot(), until_awake, claim.job.id, claim.token)
    return replace(claim, until=until, until_awake=until_awake) if database.run(sql.RENEW, values) else None
