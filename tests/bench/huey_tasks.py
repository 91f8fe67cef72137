"""What huey's consumer runs; only huey's own Python need be able to load it."""

import os
import subprocess

from huey import SqliteHuey

_FOLDER = os.environ["BENCH_HUEY"]
huey = SqliteHuey(filename=os.path.join(_FOLDER, "huey.db"), results=False)  # noqa: PTH118  # read early
_ran = os.open(os.path.join(_FOLDER, "ran"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)  # noqa: PTH118


@huey.task()  # type: ignore[untyped-decorator]  # huey has no types
def job() -> None:
    """The work of a job, and one byte for it."""
    subprocess.run(["sh", "-c", "true"], capture_output=True, check=True)
    os.write(_ran, b".")


@huey.task()  # type: ignore[untyped-decorator]  # as above
def hold() -> None:
    """Keep a worker until a line comes through the gate."""
    os.write(_ran, b".")
    gate = os.open(os.path.join(_FOLDER, "gate"), os.O_RDONLY)  # noqa: PTH118
    os.read(gate, 1)
    os.close(gate)


def add(jobs: int, held: int) -> None:
    """Before the consumer starts."""
    for _ in range(held):
        hold()
    for _ in range(jobs):
        job()
