"""Where configurations are: one that is named, the machine's, one of its instances, a person's own."""

import os
from collections.abc import Mapping
from pathlib import Path

from sqlqd.config.errors import ConfigError

SYSTEM_PATH = Path("/etc/sqlqd/sqlqd.toml")
ENVIRONMENT = "SQLQD_CONFIG"


def locate(
    explicit: str | None, environ: Mapping[str, str], *, user: bool = False, instance: str | None = None
) -> Path:
    """The configuration file to use, absolute; ConfigError where none is named and none is in place.

    The first of: `explicit`, $SQLQD_CONFIG, the `user`'s own, that of the `instance`, the machine's.
    """
    named = explicit or environ.get(ENVIRONMENT)
    if named:
        # Not resolve(): what is relative in the file is relative to the name that the person used.
        return Path(os.path.abspath(named))  # noqa: PTH100
    if user:
        return _there(of_user(environ), "`sqlqd --user init` writes one")
    if instance is not None:
        path = of_instance(instance)
        return _there(path, f"copy {SYSTEM_PATH} there and name another database in it")
    if not os.path.lexists(SYSTEM_PATH):
        here = " (there is a ./sqlqd.toml: use it by -c sqlqd.toml)" if Path("sqlqd.toml").exists() else ""
        raise ConfigError(
            f"no configuration: looked for --config, ${ENVIRONMENT} and {SYSTEM_PATH}{here}; "
            "`sqlqd init` writes one for a project of your own"
        )
    return SYSTEM_PATH


def of_user(environ: Mapping[str, str]) -> Path:
    """The configuration of the user service, whether it is there or not."""
    return _base(environ, "XDG_CONFIG_HOME", ".config") / "sqlqd" / "sqlqd.toml"


def start(path: Path, environ: Mapping[str, str]) -> str:
    """The commands that start a daemon by this configuration, for people."""
    from shlex import quote  # noqa: PLC0415 - those who add jobs need no advice

    if path == SYSTEM_PATH:
        return "`systemctl start sqlqd` or `sqlqd run`"
    if path == of_user(environ):
        return "`systemctl --user start sqlqd` or `sqlqd --user run`"
    if path.parent == SYSTEM_PATH.parent and path.suffix == ".toml":
        name = quote(path.stem)
        return f"`systemctl start sqlqd@{name}` or `sqlqd -i {name} run`"
    return f"`sqlqd run -c {quote(os.fspath(path))}`"


def database_of_user(environ: Mapping[str, str]) -> Path:
    """Where the user service's database belongs."""
    return _base(environ, "XDG_STATE_HOME", ".local/state") / "sqlqd" / "queue.db"


def of_instance(name: str) -> Path:
    """The configuration of sqlqd@NAME.service; ValueError for what cannot be such a name."""
    if not name or name.startswith(".") or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} is no name of an instance: sqlqd@NAME.service reads /etc/sqlqd/NAME.toml")
    return SYSTEM_PATH.with_name(f"{name}.toml")


def _base(environ: Mapping[str, str], variable: str, default: str) -> Path:
    """As freedesktop.org has it: what is not absolute does not count."""
    named = environ.get(variable, "")
    return Path(named) if named.startswith("/") else Path.home() / default


def _there(path: Path, otherwise: str) -> Path:
    if not os.path.lexists(path):
        raise ConfigError(f"no configuration {path}: {otherwise}")
    return path
