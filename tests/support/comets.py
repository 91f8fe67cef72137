"""A bounded fork bomb: processes that each live only until their next fork, deaf to SIGTERM. As a program:
`python comets.py NUMBER same|apart SECONDS`; `apart`: each in a session of its own.
"""

import os
import signal
import sys
import time


def fly(until: float, *, apart: bool) -> None:
    """Be another process each time, until then."""
    while time.monotonic() < until:
        if os.fork():
            os._exit(0)
        if apart:
            os.setsid()
    os._exit(0)


def main(number: int, *, apart: bool, seconds: float) -> None:
    """Start so many."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end = time.monotonic() + seconds
    for _ in range(number):
        if os.fork() == 0:
            fly(end, apart=apart)
    time.sleep(seconds)


if __name__ == "__main__":
    main(int(sys.argv[1]), apart=sys.argv[2] == "apart", seconds=float(sys.argv[3]))
