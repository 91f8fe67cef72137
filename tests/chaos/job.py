"""The command of every job under chaos: says when it begins and ends, and notices if it is not alone.

Its queue's command is `python -I -S job.py KIND`; it imports nothing of ours, so that it starts quickly.
"""

import fcntl
import os
import sys
import time

HOME = os.environ["CHAOS_HOME"]
JOB = os.environ["SQLQD_JOB_ID"]
ATTEMPT = int(os.environ["SQLQD_ATTEMPT"])


def say(what: str) -> None:
    """One line, in one write, at the end of the journal: its lines stand in the order of what happened."""
    journal = os.open(f"{HOME}/journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    line = f"{what} {JOB} {ATTEMPT} {os.getpid()} {os.getppid()} {time.monotonic()}\n"
    os.write(journal, line.encode())
    os.close(journal)


def leave_the_tree() -> None:
    """Leave a process behind that has done all it can not to be found: its own session, its parent gone."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    os.wait()


def main(kind: str) -> int:
    """Do one kind of work; the exit status."""
    # Held by every process of this execution: it is free again when the last of them is gone.
    lock = os.open(f"{HOME}/locks/{JOB}", os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("overlap")
    say("begin")
    if kind == "slow":
        time.sleep(0.3 + int(JOB[:4], 16) / 0xFFFF)
    elif kind == "leaver":
        leave_the_tree()
    say("end")
    if kind == "doomed":
        return 3
    return 1 if kind == "failing" and ATTEMPT == 1 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
