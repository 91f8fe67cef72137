"""What a shell offers behind a Tab: names from the configuration. Never an error, and never slow."""

import click

from sqlqd.cli.session import Session


def queues(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The configured queues whose names begin so."""
    return _beginning(_config_names(context, "queues"), incomplete)


def schedules(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The schedules whose names begin so."""
    return _beginning(_config_names(context, "schedules"), incomplete)


def _config_names(context: click.Context, table: str) -> list[str]:
    session = context.find_object(Session) or Session()
    session.knows = True
    try:
        return list(getattr(session.config, table))
    except Exception:  # noqa: BLE001 - in the middle of a line that somebody types there is nobody to tell
        return []


def _beginning(names: list[str], incomplete: str) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
