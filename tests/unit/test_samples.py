"""The configurations that we hand out are in order, and the installed one names every key."""

from pathlib import Path

import pytest

from sqlqd.config import load
from sqlqd.config.settings import DAEMON_KEYS, QUEUE_KEYS

ROOT = Path(__file__).parents[2]
INSTALLED = ROOT / "config" / "sqlqd.toml"


@pytest.mark.parametrize("path", [*sorted((ROOT / "config").glob("*.toml")), ROOT / "sqlqd/cli/project.toml"])
def test_a_sample_is_in_order(path: Path) -> None:
    assert load(path).path == path


def test_the_installed_one_is_in_order_with_everything_in_it_put_in_force(tmp_path: Path) -> None:
    lines = INSTALLED.read_text().splitlines()
    text = "\n".join(
        line.removeprefix("# ") if " = " in line or "[queues" in line else line for line in lines
    )
    path = tmp_path / "sqlqd.toml"
    path.write_text(text)
    plain = load(INSTALLED)
    config = load(path)
    # What stands there behind a # is what holds without it.
    for key in set(DAEMON_KEYS) - {"workers"}:
        assert getattr(config.daemon, key) == getattr(plain.daemon, key)
    assert list(config.queues) == ["send-email", "tell-me"]
    assert {name for name in (*DAEMON_KEYS, *QUEUE_KEYS) if f"{name} = " not in text} == set()
