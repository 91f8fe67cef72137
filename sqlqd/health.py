"""Whether a queue does its work: for whoever asks every few seconds and acts on yes or no. Pure."""

from collections.abc import Iterator, Sequence

from sqlqd.model import Overview
from sqlqd.printable import printable
from sqlqd.troubles import Trouble
from sqlqd.units import spell


def ailments(
    seen: Overview, troubles: Sequence[Trouble], *, max_wait: float | None, max_dead: int | None
) -> tuple[str, ...]:
    """What is not well; none: all is. `max_wait`: seconds that a job may be ready, but of a paused queue."""
    return (
        *(one.sentence for one in troubles if one.grave),
        *(_waits(seen, max_wait) if max_wait is not None else ()),
        *(_dead(seen, max_dead) if max_dead is not None else ()),
    )


def _waits(seen: Overview, most: float) -> Iterator[str]:
    if seen.pause is not None:
        return
    for queue in seen.queues:
        if queue.oldest_ready_at is None or queue.paused_at is not None:
            continue
        waited = seen.now - queue.oldest_ready_at
        if waited > most:
            yield f"{printable(queue.name)} has had a job ready for {spell(waited)}, more than {spell(most)}"


def _dead(seen: Overview, most: int) -> Iterator[str]:
    dead = sum(queue.dead for queue in seen.queues)
    if dead > most:
        yield f"{dead} {'job is' if dead == 1 else 'jobs are'} dead, more than {most}"
