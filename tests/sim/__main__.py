"""The simulation for as long as is asked: `python -m tests.sim --seconds 600 --seed x`."""

import argparse
import os
import sys
import time

from hypothesis import seed
from hypothesis.stateful import run_state_machine_as_test

from tests.sim.machine import Machine, found_within

_BATCH = 100


def main() -> int:
    """Run batches until the time is over or a promise is broken; says which seed that was."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", default=os.urandom(4).hex())
    parser.add_argument("--steps", type=int, default=40, help="in one example")
    asked = parser.parse_args()
    how = found_within(_BATCH, steps=asked.steps, derandomize=False, shrink=True)
    end, batch = time.monotonic() + asked.seconds, 0
    while time.monotonic() < end:
        machine = seed(f"{asked.seed}/{batch}")(type("Machine", (Machine,), {}))
        try:
            run_state_machine_as_test(machine, settings=how)
        except BaseException:
            print(f"broken with --seed {asked.seed}, batch {batch}", file=sys.stderr)
            raise
        batch += 1
    print(f"{batch * _BATCH} examples of {asked.steps} steps with --seed {asked.seed}: every promise held")
    return 0


if __name__ == "__main__":
    sys.exit(main())
