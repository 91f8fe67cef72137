"""Waking idle workers: as many as there is work for, and none twice while it is on its way."""

import math
import os
from contextlib import suppress

from sqlqd.board import Cell
from sqlqd.seat import Seat

_ON_ITS_WAY = 0.1
"""Seconds that a woken worker has to come round, before another is woken in its stead."""


class Bell:
    """The wake-up pipes of a daemon's workers, seen from its steward."""

    def __init__(self, seat: Seat) -> None:
        self._board = seat.board
        self._pipes = seat.wakers
        self._rung_at = [-math.inf] * len(seat.wakers)

    def idle(self) -> list[int]:
        """The workers that wait for work, by number from 0."""
        return [
            worker
            for worker in range(len(self._pipes))
            if self._board.get(worker + 1, Cell.STARTED) and not self._board.get(worker + 1, Cell.BUSY)
        ]

    def ring(self, idle: list[int], due: int, now: float) -> None:
        """Wake enough of the idle workers for so many due jobs."""
        coming = {worker for worker in idle if self._is_coming(worker, now)}
        for worker in [one for one in idle if one not in coming][: max(0, due - len(coming))]:
            self._rung_at[worker] = now
            # A full pipe wakes as well; one that nobody has is of a daemon whose parent and workers are gone.
            with suppress(BlockingIOError, BrokenPipeError):
                os.write(self._pipes[worker], b"\0")

    def _is_coming(self, worker: int, now: float) -> bool:
        rung_at = self._rung_at[worker]
        beat = self._board.get_time(worker + 1, Cell.BEAT)
        return now - rung_at < _ON_ITS_WAY and beat < rung_at
