"""Jobs on their way in: from bytes to rows, one or line by line, and their ids on the way out.

An id is told only when its job is on disk. From then on nothing that fails may make it look as if the
job had not been added: who is told "failed" tries again.
"""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sqlqd.cli.failure import Failed, Refused, tell
from sqlqd.cli.output import Output, ReaderLeft
from sqlqd.cli.unbroken import held, interrupt_alike, unbroken
from sqlqd.config.settings import LARGEST_PAYLOAD, Queue
from sqlqd.newjob import Enqueued, NewJob
from sqlqd.payload import PayloadRefused, accept
from sqlqd.printable import printable
from sqlqd.store.failures import StoreError

if TYPE_CHECKING:
    from sqlqd.store.entry import Entry

STANDARD_INPUT = 0
PIECE = 65_536
"""Bytes of one read. What a pipe holds at once becomes one transaction."""

_BATCH = 1000
"""Jobs of one transaction: whoever else writes waits for it."""
_LARGEST_ATOMIC = 512 * 1024**2
"""Bytes of memory for the jobs of one transaction."""
_OF_A_JOB = 500
"""Bytes that each takes beside its payload."""


class Intake:
    """Makes jobs that are like one another but for their payloads."""

    def __init__(self, like: NewJob, queue: Queue | None) -> None:
        """`queue` is None for one that is not configured: it has no limits of its own."""
        self._like = like
        self._json = queue is not None and queue.json
        self.limit = LARGEST_PAYLOAD if queue is None else queue.max_payload

    def job(self, payload: bytes) -> NewJob:
        """One job; raises Refused."""
        try:
            return self._like._replace(payload=accept(payload, limit=self.limit, json=self._json))
        except PayloadRefused as refused:
            raise Refused(str(refused)) from None


class Told:
    """Prints ids. If standard output fails, adding goes on: the ids are lost, the jobs are not."""

    def __init__(self, *, as_json: bool) -> None:
        """`as_json`: one document for each job."""
        self._json = as_json
        self._output = Output()
        self._deaf = False
        self._failure: OSError | None = None

    def added(self, jobs: Sequence[Enqueued]) -> None:
        """Tell of jobs that are on disk."""
        if self._deaf:
            return
        try:
            for job in jobs:
                if self._json:
                    self._output.json({"id": job.id, "created": job.created})
                else:
                    self._output.line(printable(job.id))
            self._output.flush()
        except ReaderLeft:
            self._deaf = True
        except OSError as error:
            self._deaf, self._failure = True, error

    def end(self) -> None:
        """Say so where ids were lost, unless their reader chose to leave."""
        if self._failure is not None:
            tell(f"added, but standard output failed: {self._failure.strerror}")


def add_lines(entry: "Entry", intake: Intake, told: Told, *, atomic: bool) -> None:
    """Add a job for each line of standard input; batch by batch, or `atomic`. Raises Refused, StoreError.

    Raises Failed with the number of lines that were added, where it ends after some of them.
    """
    added = 0
    interrupt_alike()
    try:
        for batch in _whole(intake) if atomic else _batches(intake):
            # Once all of them are on disk there is nothing left that a signal could break off.
            with held() if atomic else unbroken():
                on_disk = entry.enqueue(batch)
                added += len(batch)
                told.added(on_disk)
            entry.give_way()
    except (Refused, StoreError, OSError, KeyboardInterrupt) as error:
        if added == 0:
            raise
        why = "interrupted" if isinstance(error, KeyboardInterrupt) else str(error)
        raise Failed(f"lines added: {added}; then: {why}") from error


def _whole(intake: Intake) -> Iterator[list[NewJob]]:
    jobs: list[NewJob] = []
    size = 0
    for batch in _batches(intake):
        jobs += batch
        size += sum(len(job.payload) + _OF_A_JOB for job in batch)
        if size > _LARGEST_ATOMIC:
            raise Refused("this is too much for one transaction: leave --atomic out; nothing was added")
    if jobs:
        yield jobs


def _batches(intake: Intake) -> Iterator[list[NewJob]]:
    """Jobs as their lines come in. Those before a line that is refused are given out first."""
    jobs: list[NewJob] = []
    number = 0
    for lines in _lines(intake.limit):
        for line in lines:
            number += 1
            try:
                jobs.append(intake.job(line))
            except Refused as refused:
                if jobs:
                    yield jobs
                raise Refused(f"line {number}: {refused}") from None
            if len(jobs) == _BATCH:
                yield jobs
                jobs = []
        if jobs:
            yield jobs
            jobs = []


def _lines(longest: int) -> Iterator[list[bytes]]:
    """The lines that each read completes, without their ends; one that is too long is given out as it is."""
    begun: list[bytes] = []
    size = 0
    while piece := os.read(STANDARD_INPUT, PIECE):
        first, *others = piece.split(b"\n")
        begun.append(first)
        size += len(first)
        if others:
            *whole, rest = others
            yield [b"".join(begun), *whole]
            begun, size = [rest], len(rest)
        if size > longest:
            break
    if size:
        yield [b"".join(begun)]
