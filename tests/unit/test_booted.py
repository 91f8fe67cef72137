"""When the tests on a booted machine run, and what they say where they cannot."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.booted import Surroundings, lack, surroundings, unless

ABLE = Surroundings(
    uid=0,
    systemd=True,
    programs=frozenset({"setpriv", "unshare", "nsenter", "pivot_root", "mknod", "mount", "umount", "tar"}),
    cgroups=Path("/sys/fs/cgroup"),
)


def test_nothing_is_missing_where_all_is_there() -> None:
    assert lack(ABLE) is None


@pytest.mark.parametrize(
    ("here", "reason"),
    [
        (replace(ABLE, uid=1000), "booting systemd needs root"),
        (replace(ABLE, systemd=False), "there is no /usr/lib/systemd/systemd to boot"),
        (replace(ABLE, programs=ABLE.programs - {"nsenter"}), "booting systemd needs the program nsenter"),
        (replace(ABLE, cgroups=None), "systemd needs cgroup2, which is not mounted"),
    ],
)
def test_what_is_missing_is_named(here: Surroundings, reason: str) -> None:
    assert lack(here) == reason


def test_the_surroundings_are_those_of_this_system() -> None:
    here = surroundings()
    mounted = [line.split() for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    assert here.cgroups in {Path(where) for _, where, kind, *_ in mounted if kind == "cgroup2"} | {None}
    assert here.systemd == Path("/lib/systemd/systemd").exists()


def test_a_hindrance_skips_and_where_the_machine_is_required_it_fails() -> None:
    unless(None, {})
    with pytest.raises(pytest.skip.Exception, match="booting systemd needs root"):
        unless("booting systemd needs root", {})
    with pytest.raises(pytest.fail.Exception, match="booting systemd needs root"):
        unless("booting systemd needs root", {"SQLQD_REQUIRE_SYSTEMD": "1"})
