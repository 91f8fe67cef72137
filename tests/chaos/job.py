"""The command of every job under chaos: says when it begins and ends, and notices if it is not alone.

Its queue's command is `python -I -S job.py KIND`; it imports nothing of ours, so that it starts quickly.
"""

import fcntl
import os
import signal
import sys
import time

HOME = os.environ["CHAOS_HOME"]
JOB = os.environ["SQLQD_JOB_ID"]
ATTEMPT = int(os.environ["SQLQD_ATTEMPT"])
PLACES = 2
"""As the queue's concurrency."""


def born() -> str:
    """With the pid it tells this process from every other."""
    with open("/proc/self/stat", "rb") as stat:  # noqa: PTH123 - pathlib would be half of the start
        return stat.read().rpartition(b")")[2].split()[19].decode()


BORN = born()


def say(what: str) -> None:
    """One line, in one write, at the end of the journal: its lines stand in the order of what happened."""
    journal = os.open(f"{HOME}/journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    line = f"{what} {JOB} {ATTEMPT} {os.getpid()} {BORN} {os.getppid()} {time.monotonic()}\n"
    os.write(journal, line.encode())
    os.close(journal)


def take(name: str) -> bool:
    """Lock a file for as long as this process or any below it lives; False where somebody else has it."""
    lock = os.open(f"{HOME}/{name}", os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return False
    return True


def leave_the_tree() -> None:
    """Leave a process behind that has done all it can not to be found: its own session, its parent gone."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            if JOB < "4":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
        os._exit(0)
    os.wait()


def storm() -> None:
    """Output without an end of line, with all that a terminal or a log could stumble over."""
    for descriptor in (1, 2):
        os.write(descriptor, b"\x00\x1b[2J\xff\xc3" + b"x" * 60_000)
    for _ in range(20):
        os.write(1, b"\xfe" * 60_000)
    os.write(1, b"\n" * 5_000)


def work(kind: str) -> None:
    """Do what the kind does."""
    if kind == "slow":
        time.sleep(0.2 + 2.8 * int(JOB[:4], 16) / 0xFFFF)
    elif kind == "leaver":
        leave_the_tree()
    elif kind == "storm":
        storm()
    elif kind == "limited":
        time.sleep(0.05)
    elif kind == "endless" and ATTEMPT == 1:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)


def main(kind: str) -> int:
    """Do one kind of work; the exit status."""
    if not take(f"locks/{JOB}"):
        say("overlap")
    if kind == "limited" and not any(take(f"places/{place}") for place in range(PLACES)):
        say("crowd")
    say("begin")
    payload = sys.stdin.buffer.read()
    if payload != os.environb[b"SQLQD_PAYLOAD"] or not payload.startswith(f"it's {kind} ".encode()):
        say("garbled")
    work(kind)
    say("end")
    if kind == "doomed":
        return 3
    return 1 if kind == "failing" and ATTEMPT == 1 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
