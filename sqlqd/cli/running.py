"""What `sqlqd run` does before the daemon is loaded."""

import signal

from sqlqd.cli.session import Session


def run(session: Session, *, paused: bool) -> int:
    """Be the daemon; the exit status where it cannot be started."""
    # A signal that comes while the rest is loaded is obeyed once the daemon listens.
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    from sqlqd import account  # noqa: PLC0415 - see above
    from sqlqd.cli.daemon import supervise  # noqa: PLC0415 - as above

    return supervise(session.load(account.hindrance), paused=paused)
