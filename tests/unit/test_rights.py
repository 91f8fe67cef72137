"""What would let in who was refused, said of the first thing on the way that is closed."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sqlqd import rights
from sqlqd.account import Account, acting_as

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody who is refused")

GROUP = 4711
MALLORY = Account("mallory", 65534, 65534, (65534,), "/", "/bin/sh")
MEMBER = Account("alice", 65534, 65534, (65534, GROUP), "/", "/bin/sh")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder of the group's, on a way that is open to everybody."""
    way = [one for one in tmp_path.parents if one.stat().st_uid == 0 and not one.stat().st_mode & 0o001]
    before = {one: one.stat().st_mode for one in way}
    for one in (*way, tmp_path):
        one.chmod(0o755)
    made = tmp_path / "sqlqd"
    made.mkdir()
    os.chown(made, 0, GROUP)
    made.chmod(0o2770)
    yield made
    for one, mode in before.items():
        one.chmod(mode)


def told(who: Account, of: Callable[[Path], str], path: Path) -> str:
    with acting_as(who):
        return of(path)


def file(path: Path, mode: int, group: int) -> Path:
    path.touch()
    os.chown(path, 0, group)
    path.chmod(mode)
    return path


def test_a_stranger_hears_how_to_join_the_group_that_the_closed_thing_is_of(place: Path) -> None:
    join = f"add yourself to group {GROUP}: sudo usermod -aG {GROUP} nobody, then log in again"
    assert told(MALLORY, rights.to_change, place / "queue.db") == join
    assert told(MALLORY, rights.to_read, file(place.parent / "sqlqd.toml", 0o640, GROUP)) == join
    place.chmod(0o777)
    assert told(MALLORY, rights.to_change, file(place / "queue.db", 0o660, GROUP)) == join


def test_where_no_group_would_help_its_owner_is_named(place: Path) -> None:
    assert told(MALLORY, rights.to_read, file(place.parent / "a.toml", 0o600, GROUP)) == "run this as root"
    # Nobody is to become a member of group root for this.
    assert told(MALLORY, rights.to_read, file(place.parent / "b.toml", 0o640, 0)) == "run this as root"
    assert told(MEMBER, rights.to_change, file(place / "queue.db", 0o640, GROUP)) == "run this as root"
    place.chmod(0o700)
    assert told(MALLORY, rights.to_change, place / "queue.db") == "run this as root"


def test_who_owns_what_is_closed_hears_how_to_open_it(place: Path) -> None:
    os.chown(place, MALLORY.uid, MALLORY.gid)
    database = file(place / "queue.db", 0o600, MALLORY.gid)
    os.chown(database, MALLORY.uid, MALLORY.gid)
    place.chmod(0o500)
    opened = f"it is the mode of {place}, which is yours: chmod u+wx {place}"
    assert told(MALLORY, rights.to_change, database) == opened
    place.chmod(0o700)
    database.chmod(0o400)
    opened = f"it is the mode of {database}, which is yours: chmod u+rw {database}"
    assert told(MALLORY, rights.to_change, database) == opened
