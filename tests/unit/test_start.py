"""Which command starts a daemon depends on whose the configuration is."""

from pathlib import Path

import pytest

from sqlqd.config.places import start


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/etc/sqlqd/sqlqd.toml", "`systemctl start sqlqd` or `sqlqd run`"),
        ("/etc/sqlqd/mail.toml", "`systemctl start sqlqd@mail` or `sqlqd -i mail run`"),
        ("/home/ada/.config/sqlqd/sqlqd.toml", "`systemctl --user start sqlqd` or `sqlqd --user run`"),
        ("/home/ada/my queue/sqlqd.toml", "`sqlqd run -c '/home/ada/my queue/sqlqd.toml'`"),
    ],
)
def test_each_configuration_has_its_own(path: str, said: str) -> None:
    assert start(Path(path), {"XDG_CONFIG_HOME": "/home/ada/.config"}) == said
