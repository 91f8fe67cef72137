"""`sqlqd status` for people: lines of at most 80 columns, but for paths that are longer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap

from sqlqd.circumstances import DaemonNow, Stage
from sqlqd.cli.colour import BOLD, GREEN, RED, YELLOW, Paint
from sqlqd.cli.records import WIDTH, bar, fit
from sqlqd.config import Config
from sqlqd.model import DaemonSeen, Overview, QueueCount, WorkerSeen
from sqlqd.moments import beside, local
from sqlqd.printable import printable
from sqlqd.troubles import Trouble
from sqlqd.units import spell

_LABEL = 10
_TOLD = 5
"""Troubles that are told; of more only the number."""
_ID = 12
_NAME = 19
_COLUMNS = (
    *(("READY", 8), ("SCHEDULED", 11), ("RUNNING", 9), ("DEAD", 7), ("OLDEST", 10)),
    *(("DONE/1H", 8), ("FAIL/1H", 8)),
)
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Sight:
    """All that there is to be shown."""

    config: Config
    overview: Overview
    """With those workers alone whose daemon lives."""
    daemons: Sequence[DaemonNow]
    """Those that live, the working ones first."""
    troubles: Sequence[Trouble]

    def announced(self, pid: int) -> DaemonSeen | None:
        """What a daemon said of itself."""
        return next((one for one in self.overview.daemons if one.pid == pid), None)


def lines(sight: Sight, paint: Paint) -> Iterator[str]:
    """The whole of it."""
    yield from _state(sight.troubles, paint)
    for daemon in sight.daemons:
        yield from _labelled("daemon", [*_daemon(sight, daemon)])
    if not sight.daemons:
        yield from _labelled("daemon", ["not running"])
    yield from _labelled("config", [printable(str(sight.config.path))])
    yield from _labelled("database", [printable(str(sight.config.daemon.database))])
    yield ""
    yield from _queues(sight.overview, sight.config, paint)
    yield from _workers(sight, paint)


def _labelled(label: str, texts: Sequence[str]) -> Iterator[str]:
    for place, text in enumerate(texts):
        yield f"{label if place == 0 else '':{_LABEL}}{text}"


def _state(troubles: Sequence[Trouble], paint: Paint) -> Iterator[str]:
    if not troubles:
        yield from _labelled("state", [paint("all is well", GREEN)])
        return
    grave = troubles[0].grave
    head = "not well: " if grave else "well, but for this: "
    texts = [f"{head}{troubles[0].sentence}", *(one.sentence for one in troubles[1:_TOLD])]
    if len(troubles) > _TOLD:
        texts.append(f"and {len(troubles) - _TOLD} more")
    rows = [row for text in texts for row in wrap(text, WIDTH - _LABEL, subsequent_indent="  ")]
    yield from _labelled("state", [paint(row, RED if grave else YELLOW) for row in rows])


def _daemon(sight: Sight, daemon: DaemonNow) -> Iterator[str]:
    seen, now = sight.announced(daemon.pid), sight.overview.now
    if seen is None:
        yield f"pid {daemon.pid}, {daemon.stage.value}"
        return
    up = f"up {spell(max(0.0, now - seen.started_at))}"
    doing = up if daemon.stage is Stage.RUNNING else f"{daemon.stage.value}, {up}"
    yield f"{doing}, since {local(seen.started_at)}, pid {seen.pid}, version {printable(seen.version)}"
    crew = [one for one in sight.overview.workers if one.daemon_pid == daemon.pid]
    busy = sum(1 for one in crew if one.job_id is not None)
    yield f"{busy} of {seen.workers} workers busy; configuration loaded {beside(seen.loaded_at, now)}"
    if seen.config != str(sight.config.path):
        yield f"by another configuration: {printable(seen.config)}"


def _queues(overview: Overview, config: Config, paint: Paint) -> Iterator[str]:
    heads = "".join(f"{name:>{width}}" for name, width in _COLUMNS)
    yield paint(f"{'QUEUE':{_NAME}}{heads}", BOLD)
    for queue in overview.queues:
        yield _queue(queue, overview.now, paint)
        for note in _notes(queue, overview, known=queue.name in config.queues):
            yield paint(f"  {fit(note, WIDTH - 2)}", YELLOW)


def _queue(queue: QueueCount, now: float, paint: Paint) -> str:
    oldest = "" if queue.oldest_ready_at is None else spell(max(0.0, now - queue.oldest_ready_at))
    counts = (queue.ready, queue.scheduled, queue.running, queue.dead)
    texts = (*map(_short, counts), oldest, _short(queue.done_last_hour), _short(queue.failed_last_hour))
    colours = {"DEAD": RED if queue.dead else None, "FAIL/1H": YELLOW if queue.failed_last_hour else None}
    cells = (
        paint(f"{text:>{width}}", colours.get(name))
        for text, (name, width) in zip(texts, _COLUMNS, strict=True)
    )
    return f"{fit(queue.name, _NAME):{_NAME}}{''.join(cells)}"


def _short(count: int) -> str:
    return str(count) if count < 10 * _MILLION else f"{count / _MILLION:.1f}M"


def _notes(queue: QueueCount, overview: Overview, *, known: bool) -> Iterator[str]:
    if not known:
        yield "not configured: its jobs wait" if queue.ready or queue.scheduled else "not configured"
    if queue.paused_at is not None:
        end = "" if queue.paused_until is None else f", until {local(queue.paused_until)}"
        yield f"paused since {local(queue.paused_at)}{end}"
    if queue.blocked_until is not None:
        yield f"held for {spell(queue.blocked_until - overview.now)}: {queue.blocked_reason}"


def _workers(sight: Sight, paint: Paint) -> Iterator[str]:
    busy = [one for one in sight.overview.workers if one.job_id is not None]
    if not busy:
        return
    yield ""
    yield paint(f"{'WORKER':>6}  {'PID':>8}  {'JOB':{_ID}}  {'FOR':>10}  QUEUE", BOLD)
    for worker in sorted(busy, key=lambda one: (one.daemon_pid, one.slot)):
        yield _worker(worker, sight.overview.now)
        if worker.progress is not None:
            yield f"{'':16}  {bar(worker.progress, WIDTH - 18)}"


def _worker(worker: WorkerSeen, now: float) -> str:
    since = "" if worker.claimed_at is None else spell(max(0.0, now - worker.claimed_at))
    job = fit((worker.job_id or "")[:_ID], _ID)
    line = f"{worker.slot:>6}  {worker.pid:>8}  {job:{_ID}}  {since:>10}  "
    return line + fit(worker.queue or "", WIDTH - len(line))
