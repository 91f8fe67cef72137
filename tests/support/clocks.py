"""A clock that tests own, with two hands that move apart."""

import itertools

_boots = itertools.count(1)


class TwoHands:
    """`wall` can be set to anything; `awake` only goes forward, and starts anew with a boot."""

    def __init__(self, wall: float = 1_800_000_000.0, awake: float = 5000.0) -> None:
        self._wall = wall
        self._awake = awake
        self._boot = f"boot-{next(_boots)}"

    def wall(self) -> float:
        """Unix seconds."""
        return self._wall

    def awake(self) -> float:
        """Seconds since boot."""
        return self._awake

    def boot(self) -> str:
        """The boot's id."""
        return self._boot

    def pass_by(self, seconds: float) -> None:
        """Both hands go on together."""
        self._wall += seconds
        self._awake += seconds

    def step_wall(self, seconds: float) -> None:
        """Somebody sets the wall clock, forward or back."""
        self._wall += seconds

    def sleep(self, seconds: float) -> None:
        """The machine is suspended: the wall clock goes on alone."""
        self._wall += seconds

    def reboot(self, seconds: float = 60.0) -> None:
        """Another boot, some seconds later."""
        self._wall += seconds
        self._awake = 3.0
        self._boot = f"boot-{next(_boots)}"
