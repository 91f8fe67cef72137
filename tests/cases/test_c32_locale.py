"""Text arrives as it was sent, whatever the locale of whoever sends it."""

import os
from pathlib import Path

import pytest

from tests.support.shell import PLAIN, Desk

TEXT = "naïve – 日本"  # noqa: RUF001 - the dash is part of the case
LOCALES: list[dict[str, str]] = [
    {},
    {"LC_ALL": "C"},
    {"LANG": "xx_YY.bogus"},
    {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONIOENCODING": "latin-1"},
]
CONFIG = f'# é ü 日本\n{PLAIN}\n[queues."grüße"]\ncommand = "echo \'é\'"\n'


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, CONFIG)


@pytest.mark.case("C32")
@pytest.mark.parametrize("locale", LOCALES, ids=str)
def test_bytes_arrive_unchanged_and_the_configuration_is_utf_8(desk: Desk, locale: dict[str, str]) -> None:
    env = {"PATH": os.environ["PATH"], "SQLQD_CONFIG": os.fspath(desk.config), **locale}
    assert desk.run("enqueue", "grüße".encode(), TEXT.encode(), "--key", "clé".encode(), env=env).code == 0
    assert desk.run("enqueue", "mail", "-", stdin=TEXT.encode(), env=env).code == 0
    assert desk.run("enqueue", "mail", "--lines", stdin=TEXT.encode(), env=env).code == 0
    jobs = [(job["queue"], job["payload"], job["key"]) for job in desk.jobs()]
    assert jobs == [("grüße", TEXT, "clé"), ("mail", TEXT, None), ("mail", TEXT, None)]
    shown = desk.run("show", desk.jobs()[0]["id"], env=env)
    assert (shown.code, shown.err) == (0, "")
    assert TEXT in shown.out
    assert "grüße" in desk.run("status", env=env).out
    checked = desk.run("check", env=env)
    assert checked.code == 0
    assert "echo 'é'" in checked.out
    refused = desk.run("enqueue", "grüse".encode(), env=env)
    assert refused.code == 2
    assert "grüße" in refused.err
