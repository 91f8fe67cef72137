"""The jobs of a selection in an order: page by page, so that no transaction stays open between them, and
nothing is sorted. What is due first is merged from the parts of the index that waiting jobs stand in.
"""

import heapq
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice
from typing import NamedTuple

from sqlqd.model import Order, Record, Selection, State
from sqlqd.store.database import Database, Moment, Row, Value
from sqlqd.store.selecting import (
    DEAD,
    DONE,
    FIRST_ROW,
    LAST_ROW,
    LIVE,
    PAGE,
    Place,
    Placed,
    Span,
    at,
    page,
    places,
)

_NAMED_AT_ONCE = 1000
"""Ids that one statement is given: reading them keeps no log from being cleared for long."""

_IN_MEMORY = 10_000
"""Rows that are known by their numbers at once, over all parts that are merged."""

_NEXT_QUEUE = """
SELECT CAST(queue AS BLOB), priority FROM jobs INDEXED BY jobs_waiting
WHERE locked_by IS NULL AND queue > CAST(? AS TEXT) AND queue < x'' ORDER BY queue, priority DESC LIMIT 1
"""

_FIRST_OF_QUEUE = """
SELECT CAST(queue AS BLOB), priority FROM jobs INDEXED BY jobs_waiting
WHERE locked_by IS NULL AND queue = ? ORDER BY priority DESC LIMIT 1
"""

_LOWER = """
SELECT priority FROM jobs INDEXED BY jobs_waiting
WHERE locked_by IS NULL AND queue = CAST(? AS TEXT) AND priority < ? ORDER BY priority DESC LIMIT 1
"""

# Two steps: jobs that were added together have the same moment, and there may be a million of them.
_SAME_MOMENT = """
SELECT run_at, rowid FROM jobs INDEXED BY jobs_waiting
WHERE locked_by IS NULL AND queue = CAST(? AS TEXT) AND priority = ? AND run_at = ? AND rowid > ?
ORDER BY rowid LIMIT ?
"""

_LATER = """
SELECT run_at, rowid FROM jobs INDEXED BY jobs_waiting
WHERE locked_by IS NULL AND queue = CAST(? AS TEXT) AND priority = ? AND run_at > ? AND run_at <= 9e999
ORDER BY run_at, rowid LIMIT ?
"""

# What is no number came past the schema's checks and stands behind all numbers.
_ODD = """
SELECT rowid FROM jobs INDEXED BY jobs_waiting
WHERE locked_by IS NULL AND queue = CAST(? AS TEXT) AND priority = ? AND run_at > 9e999
ORDER BY run_at, rowid LIMIT ? OFFSET ?
"""

_HELD = """
SELECT CAST(queue AS BLOB), rowid FROM jobs INDEXED BY jobs_held
WHERE locked_by IS NOT NULL AND queue >= CAST(?1 AS TEXT) AND queue < x''
    AND (queue > CAST(?1 AS TEXT) OR rowid > ?2)
ORDER BY queue, rowid LIMIT ?3
"""

# Queues that are no text stand behind all that are.
_STRANGE_HELD = """
SELECT rowid FROM jobs INDEXED BY jobs_held
WHERE locked_by IS NOT NULL AND queue >= x'' ORDER BY queue, rowid LIMIT ? OFFSET ?
"""

_STRANGE_WAITING = """
SELECT rowid FROM jobs INDEXED BY jobs_waiting
WHERE locked_by IS NULL AND queue >= x'' ORDER BY queue, priority DESC, run_at, rowid LIMIT ? OFFSET ?
"""


_NOT_LIVE = """
SELECT value FROM json_each(?) AS named WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE id = named.value)
"""


class _Part(NamedTuple):
    """Waiting jobs that stand in the index as they are due."""

    queue: bytes
    priority: int

    @property
    def rank(self) -> float:
        """Highest first; what is no number sorts above all that are."""
        return -self.priority if isinstance(self.priority, int) else -math.inf


def find(database: Database, selection: Selection, order: Order) -> Iterator[Record]:
    """The jobs of a selection, as many as it wants at most."""
    if selection.ids:
        found = _by_ids(database, selection)
    elif order in {Order.DUE, Order.PRIORITY}:
        found = _by_due(database, selection, order)
    else:
        found = _by_arrival(database, selection, newest_first=order is Order.NEWEST)
    return islice(found, LAST_ROW if selection.limit is None else min(selection.limit, LAST_ROW))


def not_live(database: Database, ids: Sequence[str]) -> list[str]:
    """Those of these ids that no live job has, in their order."""
    found: list[str] = []
    for first in range(0, len(ids), _NAMED_AT_ONCE):
        named = json.dumps(ids[first : first + _NAMED_AT_ONCE])
        found += (job_id for (job_id,) in _all(database, _NOT_LIVE, named))
    return found


def _by_ids(database: Database, selection: Selection) -> Iterator[Record]:
    for given in dict.fromkeys(selection.ids):

        def look(now: Moment, given: str = given) -> list[Placed]:
            return [job for place in places(database, given) for job in at(database, place, selection, now)]

        for placed in database.read(look):
            yield placed.record


def _by_arrival(database: Database, selection: Selection, *, newest_first: bool) -> Iterator[Record]:
    size = PAGE if selection.limit is None else min(PAGE, selection.limit)
    for table in (LIVE, DEAD, DONE):
        span = Span(limit=size, newest_first=newest_first)
        while span.first <= span.last:

            def look(now: Moment, table: str = table, span: Span = span) -> list[Placed]:
                return page(database, selection, table, now, span)

            jobs = database.read(look)
            for placed in jobs:
                yield placed.record
            if len(jobs) < size:
                break
            row = jobs[-1].place.row
            span = replace(span, last=row - 1) if newest_first else replace(span, first=row + 1)


# In the order in which they are due.


def _by_due(database: Database, selection: Selection, order: Order) -> Iterator[Record]:
    rows = _held(database)
    if selection.states != {State.RUNNING}:
        rows = chain(rows, _waiting(database, selection.queue, order))
    while some := tuple(islice(rows, PAGE)):

        def look(now: Moment, some: tuple[int, ...] = some) -> list[Placed]:
            return [job for row in some for job in at(database, Place(LIVE, row), selection, now)]

        for placed in database.read(look):
            yield placed.record


def _held(database: Database) -> Iterator[int]:
    queue, row = b"", FIRST_ROW
    while found := _all(database, _HELD, queue, row, PAGE):
        yield from (row for _, row in found)
        queue, row = found[-1]
    yield from _strange(database, _STRANGE_HELD)


def _waiting(database: Database, queue: str | None, order: Order) -> Iterator[int]:
    parts = sorted(_parts(database, queue), key=lambda part: part.rank)
    size = max(2, min(PAGE, _IN_MEMORY // max(1, len(parts))))
    together = [parts]
    if order is Order.PRIORITY:
        together = [list(alike) for _, alike in groupby(parts, key=lambda part: part.rank)]
    for some in together:
        yield from _merged(database, some, size)
    if queue is None:
        yield from _strange(database, _STRANGE_WAITING)


def _merged(database: Database, parts: list[_Part], size: int) -> Iterator[int]:
    for _, row in heapq.merge(*(_rows(database, part, size) for part in parts)):
        yield row


def _parts(database: Database, queue: str | None) -> Iterator[_Part]:
    """Every part that has a job: leaps from one to the next."""
    found = _all(database, _NEXT_QUEUE, b"") if queue is None else _all(database, _FIRST_OF_QUEUE, queue)
    while found:
        part = _Part(*found[0])
        yield part
        lower = _all(database, _LOWER, *part)
        if lower:
            found = [(part.queue, lower[0][0])]
        else:
            found = _all(database, _NEXT_QUEUE, part.queue) if queue is None else []


def _rows(database: Database, part: _Part, size: int) -> Iterator[tuple[float, int]]:
    """The rows of one part with their moments, in order."""
    moment, row = -math.inf, FIRST_ROW
    while True:
        found = _all(database, _SAME_MOMENT, *part, moment, row, size)
        found = found or _all(database, _LATER, *part, moment, size)
        if not found:
            break
        yield from found
        moment, row = found[-1]
    yield from ((math.inf, row) for row in _strange(database, _ODD, *part))


def _strange(database: Database, statement: str, *values: Value) -> Iterator[int]:
    """What nobody could have enqueued, for which counting is good enough."""
    seen = 0
    while found := _all(database, statement, *values, PAGE, seen):
        yield from (row for (row,) in found)
        seen += len(found)


def _all(database: Database, statement: str, *values: Value) -> list[Row]:
    return database.read(lambda _: database.all(statement, values))
