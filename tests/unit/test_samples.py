"""The configurations that we hand out are in order, and the installed one names every key."""

from pathlib import Path

import pytest

from sqlqd.config import load
from sqlqd.config.settings import Daemon, Queue
from sqlqd.model import Rate

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
    for key in set(Daemon.keys) - {"workers"}:
        assert getattr(config.daemon, key) == getattr(plain.daemon, key)
    assert list(config.queues) == ["send-email", "tell-me"]
    assert {name for name in (*Daemon.keys, *Queue.keys) if f"{name} = " not in text} == set()


def test_the_documented_policies_are_in_order(tmp_path: Path) -> None:
    document = (INSTALLED.parents[1] / "docs" / "policies.md").read_text(encoding="utf-8")
    path = tmp_path / "sqlqd.toml"
    path.write_text('[daemon]\ndatabase = "queue.db"\n' + document.split("```toml\n")[1].split("```")[0])
    config = load(path)
    assert {*config.queues} == {"fetch", "tell-me", "account"}
    assert config.queues["fetch"].rate == Rate(2.0, 5)
    assert config.schedules["nightly"].queue == "fetch"
