"""One job as the verbs print it: as JSON, in a line of a list, and whole."""

from dataclasses import replace
from typing import Any

from sqlqd.model import LATEST, Attempt, Lease, Progress, Record, State
from sqlqd.moments import beside, iso, local
from sqlqd.policy import signal_name
from sqlqd.printable import printable
from sqlqd.units import spell

_LIVE = (
    *("id", "queue", "state", "payload", "priority", "run_at", "locked_until", "locked_by", "attempts"),
    *("max_attempts", "key", "created_at", "claimed_at", "crashes", "last_error"),
)
_DEAD = (*_LIVE, "died_at", "reason")
_DONE = ("id", "queue", "state", "key", "attempts", "ended_at", "outcome", "duration", "exit_code")
_ATTEMPT = ("number", "started_at", "ended_at", "outcome", "exit_code", "signal", "cpu", "error", "worker")
_LENGTHS = frozenset({"duration", "cpu"})

_ID = 12
_WHOLE_ID = 32
_QUEUE = 20
_STATE = 9
_WHEN = 16
_TOKEN = 40
_BAR = 10
WIDTH = 80


def header(*, wide: bool = False) -> str:
    """What stands above the lines of a list."""
    first = f"{'ID':{_WHOLE_ID if wide else _ID}}  {'QUEUE':{_QUEUE}}"
    return f"{first}  {'STATE':{_STATE}}  {'TRIES':>5}  {'WHEN':{_WHEN}}  KEY"


def as_json(record: Record, *, whole: bool = False) -> dict[str, Any]:
    """The columns of its table by their names, `state`, and times and lengths for people and programs."""
    columns = {State.DEAD: _DEAD, State.DONE: _DONE}.get(record.state, _LIVE)
    document = _fields(record, columns)
    if whole:
        document["history"] = [_fields(attempt, _ATTEMPT) for attempt in record.history]
        document["progress"] = progress_document(record.progress)
    return document


def _fields(of: Record | Attempt, names: tuple[str, ...]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for name in names:
        value = getattr(of, name)
        if name in _LENGTHS:
            document[f"{name}_seconds"] = value
        else:
            document[name] = value.value if isinstance(value, State) else value
        if name.endswith("_at") or name == "locked_until":
            document[f"{name}_iso"] = None if value is None else iso(value)
    return document


def progress_document(progress: Progress | None) -> dict[str, Any] | None:
    """How far a job is."""
    return None if progress is None else {"percent": progress.percent, "text": progress.text}


def bar(progress: Progress, width: int) -> str:
    """How far a job is, for people: a bar, the number and the words."""
    full = round(progress.percent / 100.0 * _BAR)
    return fit(f"{'█' * full}{'░' * (_BAR - full)} {progress.percent:g} % {progress.text}".rstrip(), width)


def fit(text: str, width: int) -> str:
    """The text on one line of at most `width` characters."""
    text = printable(text)
    return text if len(text) <= width else text[: width - 1] + "…"


def line(record: Record, now: float, *, wide: bool = False, state: str | None = None) -> str:
    """One line of a list; the id is cut to a prefix that verbs take. `wide`: nothing is cut; `state`: what
    it is called where its own word would mislead.
    """
    tries = (
        f"{record.attempts}" if record.max_attempts is None else f"{record.attempts}/{record.max_attempts}"
    )
    when = _when(record)
    job, queue, key = (printable(text) for text in (record.id, record.queue, record.key or ""))
    if not wide:
        job, queue = job[:_ID], fit(queue, _QUEUE)
    text = (
        f"{job:{_WHOLE_ID if wide else _ID}}  {queue:{_QUEUE}}  "
        f"{state or record.outcome or record.state.value:{_STATE}}  {tries:>5}  "
        f"{'' if when is None else beside(when, now):{_WHEN}}  "
    )
    return (text + (key if wide else fit(key, WIDTH - len(text)))).rstrip()


def _when(record: Record) -> float | None:
    """The moment that says most in this state: due, claimed, died, ended."""
    match record.state:
        case State.RUNNING:
            return record.claimed_at
        case State.DEAD:
            return record.died_at
        case State.DONE:
            return record.ended_at
    return None if (record.run_at or 0.0) >= LATEST else record.run_at


def kept(record: Record) -> tuple[list[Attempt], str | None]:
    """The attempts, the last with all that is kept of its end, and what was said without one since."""
    attempts, last = list(record.history), record.last_error
    if last is not None and attempts and last.split("\n", 1)[0] == attempts[-1].error.split("\n", 1)[0]:
        attempts[-1], last = replace(attempts[-1], error=last), None
    return attempts, last


def whole(record: Record, now: float, *, amiss: str | None = None) -> list[str]:
    """Everything about a job, for people. `amiss`: why nobody is at work on it, though it is leased."""
    lines = [f"{name:<13} {value}" for name, value in _facts(record, now)]
    if record.payload:
        lines += _block(f"payload ({len(record.payload.encode('utf-8', 'replace'))} bytes)", record.payload)
    attempts, last = kept(record)
    for attempt in attempts:
        lines += ["", f"attempt {attempt.number}: {_ended(attempt)}", f"  {_when_it_ran(attempt, now)}"]
        lines += _indented(attempt.error.rstrip("\n"))
    if record.state is State.RUNNING and record.claimed_at is not None:
        runs = f"runs for {spell(max(0.0, now - record.claimed_at))}, by {_worker(record.locked_by or '')}"
        lines += ["", f"attempt {record.attempts}: {amiss or runs}"]
        if record.progress is not None:
            lines.append(f"  {bar(record.progress, WIDTH - 2)}")
    if last is not None:
        lines += _block("last error", last)
    return lines


def _facts(record: Record, now: float) -> list[tuple[str, str]]:
    limit = "" if record.max_attempts is None else f" of {record.max_attempts}"
    crashes = f", {record.crashes} of them took their worker down" if record.crashes else ""
    state = record.state.value
    if record.outcome is not None and record.outcome != state:
        state = record.outcome
    facts: list[tuple[str, str | None]] = [
        ("id", printable(record.id)),
        ("queue", printable(record.queue)),
        ("state", state),
        ("reason", None if record.reason is None else printable(record.reason)),
        ("key", None if record.key is None else printable(record.key)),
        ("priority", str(record.priority) if record.priority else None),
        ("attempts", f"{record.attempts}{limit}{crashes}"),
        ("payload", "empty" if record.payload == "" else None),
        ("exit code", None if record.exit_code is None else str(record.exit_code)),
        ("ran for", None if record.duration is None else spell(record.duration)),
    ]
    moments = (
        ("created", record.created_at),
        ("due", _when(record) if record.state in {State.READY, State.SCHEDULED} else None),
        ("claimed", record.claimed_at if record.state is State.RUNNING else None),
        ("lease ends", record.locked_until if record.state is State.RUNNING else None),
        ("died", record.died_at),
        ("ended", record.ended_at),
    )
    facts += [(name, f"{local(at)} ({beside(at, now)})") for name, at in moments if at is not None]
    return [(name, value) for name, value in facts if value is not None]


def _ended(attempt: Attempt) -> str:
    how = printable(attempt.outcome)
    if attempt.exit_code is not None:
        how += f" with status {attempt.exit_code}"
    if attempt.signal is not None:
        how += f" by {signal_name(attempt.signal)}"
    took = spell(max(0.0, attempt.ended_at - attempt.started_at))
    cpu = "" if attempt.cpu is None else f", {spell(max(0.0, attempt.cpu))} of CPU"
    return f"{how} after {took}{cpu}, by {_worker(attempt.worker)}"


def _when_it_ran(attempt: Attempt, now: float) -> str:
    start, end = local(attempt.started_at), local(attempt.ended_at)
    return f"from {start} to {end} ({beside(attempt.ended_at, now)})"


def _worker(token: str) -> str:
    slot = Lease("", token).slot
    return f"worker {slot}" if slot else fit(token, _TOKEN)


def _block(title: str, text: str) -> list[str]:
    return ["", f"{title}:", *_indented(text)]


def _indented(text: str) -> list[str]:
    return [f"  {printable(each, keep=chr(9))}".rstrip() for each in text.split("\n")] if text else []
