"""What the heir of a queue is told of a dead job: what any queue can take, whatever the job held."""

import json

from sqlqd.store.database import Row

MOST = 65_536
"""Bytes: what a queue takes that says nothing of it. What is longer would die with its heir, unheard."""

_FIELDS = ("id", "queue", "key", "payload", "reason", "attempts", "created_at", "died_at", "last_error")
_BRIEF = 2000
"""Characters of what is cut where all of it would be too much."""


def document(row: Row) -> str:
    """One dead job's fields, its text as bytes; without its payload where all would be too long."""
    told = {name: _readable(value) for name, value in zip(_FIELDS, row, strict=True)}
    whole = _json(told)
    if len(whole.encode()) <= MOST:
        return whole
    cut = {name: value[:_BRIEF] if isinstance(value, str) else value for name, value in told.items()}
    return _json(cut | {"payload": None})


def _readable(value: object) -> object:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _json(told: dict[str, object]) -> str:
    return json.dumps(told, separators=(",", ":"), ensure_ascii=False)
