"""The verb `run`."""

import signal

import click

from sqlqd.cli.session import Session


@click.command()
@click.option("--paused", is_flag=True, help="Start no job until `sqlqd resume --all`.")
@click.pass_obj
def run(session: Session, *, paused: bool) -> int:
    """Run the daemon in the foreground, until SIGTERM or SIGINT.

    Example: sqlqd -c sqlqd.toml run
    """
    # A signal that comes while the rest is loaded is obeyed once the daemon listens.
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    from sqlqd import account  # noqa: PLC0415 - see above, and no other verb needs it
    from sqlqd.cli.daemon import supervise  # noqa: PLC0415 - as above

    return supervise(session.load(account.hindrance), paused=paused)
