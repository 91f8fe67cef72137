"""How often those who wait for the write lock look whether it is free. Pure.

SQLite's own handler looks ever more seldom: who has waited for long hardly ever finds the lock free among
others who have just had it, and may wait for seconds. Measured with ten writers that never rest.
"""

from collections.abc import Callable, Iterator

FIRST = (50e-6, 300e-6)
"""Seconds between the first looks: at random, lest two who wait look at the same moments."""

LONGEST = 3e-3

_GROWTH = 1.5
_MOST_SCALED = LONGEST / FIRST[0]

_OVERTAKEN = 0.05
"""Seconds of a wait after which others have had the lock again and again: look as often as at first."""

_HELD = 0.5
"""Seconds of a wait after which somebody keeps the lock: to look often would only cost."""


def pace(at_random: Callable[[float, float], float]) -> Iterator[float]:
    """Seconds until each next look, without end."""
    waited, scale = 0.0, 1.0
    while True:
        step = min(at_random(*FIRST) * scale, LONGEST)
        yield step
        waited += step
        scale = 1.0 if _OVERTAKEN <= waited < _HELD else min(scale * _GROWTH, _MOST_SCALED)
