"""Where a cgroup is, what is read and written in one, and what of it is ours."""

from pathlib import Path

import pytest

from sqlqd.cgroup import Domain, Leaf, Refused, Usage
from sqlqd.delegation import located

UNIFIED = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
HYBRID = (
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)
UNIT = "0::/system.slice/sqlqd.service\n"


@pytest.mark.parametrize(
    ("cgroup", "mountinfo", "path"),
    [
        (UNIT, UNIFIED, "/sys/fs/cgroup/system.slice/sqlqd.service"),
        (f"4:memory:/other\n{UNIT}", HYBRID, "/sys/fs/cgroup/unified/system.slice/sqlqd.service"),
        ("0::/\n", UNIFIED, "/sys/fs/cgroup/"),
        # A mount that shows only a part of the tree.
        (UNIT, "5 1 0:26 /system.slice /c rw - cgroup2 c rw\n", "/c/sqlqd.service"),
        (
            UNIT,
            f"5 1 0:26 /user.slice /c rw - cgroup2 c rw\n{UNIFIED}",
            "/sys/fs/cgroup/system.slice/sqlqd.service",
        ),
        (UNIT, "5 1 0:26 / /a\\040b rw - cgroup2 c rw\n", "/a b/system.slice/sqlqd.service"),
        (UNIT, "5 1 0:26 /system /c rw - cgroup2 c rw\n", None),
        (UNIT, "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", None),
        ("4:memory:/x\n", UNIFIED, None),
        ("", "", None),
    ],
)
def test_a_cgroup_is_found_where_it_is_mounted(cgroup: str, mountinfo: str, path: str | None) -> None:
    assert located(cgroup, mountinfo) == (None if path is None else Path(path))


def test_what_was_used_is_read_as_far_as_it_is_counted(tmp_path: Path) -> None:
    leaf = Leaf(tmp_path, tmp_path)
    assert leaf.usage() == Usage()
    (tmp_path / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\ncore_sched.force_idle_usec 0\n")
    assert leaf.usage() == Usage(cpu=1.5)
    (tmp_path / "memory.peak").write_text("4096\n")
    (tmp_path / "memory.events").write_text("low 0\nhigh 0\nmax 31\noom 1\noom_kill 3\noom_group_kill 1\n")
    assert leaf.usage() == Usage(cpu=1.5, memory_peak=4096, killed_for_memory=3, met_limit=True)


def test_processes_are_listed_with_those_further_down(tmp_path: Path) -> None:
    leaf = Leaf(tmp_path, tmp_path)
    (tmp_path / "below").mkdir()
    (tmp_path / "cgroup.procs").write_text("11\n12\n")
    (tmp_path / "below" / "cgroup.procs").write_text("13\n")
    (tmp_path / "cgroup.events").write_text("populated 1\nfrozen 0\n")
    assert leaf.pids() == [11, 12, 13]
    (tmp_path / "cgroup.events").write_text("populated 0\nfrozen 0\n")
    assert leaf.pids() == []


def test_a_limit_is_written_and_one_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pids.max").touch()
    leaf = Leaf(tmp_path, tmp_path)
    # Not every kernel has the second.
    leaf.limit({"pids.max": "20", "memory.swap.max": "0"})
    assert (tmp_path / "pids.max").read_text() == "20"
    with pytest.raises(Refused) as wrong:
        leaf.limit({"cpu.max": "1000 100000"})
    assert wrong.value.strerror == "cpu.max cannot be 1000 100000: No such file or directory"


def test_a_job_gets_a_leaf_that_names_worker_and_job(tmp_path: Path) -> None:
    domain = Domain(tmp_path, frozenset())
    assert domain.leaf(3, "4d7ced46f09a" + "0" * 20).path == tmp_path / "worker-3-4d7ced46f09a"
    assert domain.leaf(3, "../../etc/x").path == tmp_path / "worker-3-______etc_x"
    assert domain.leaf(12, "").path == tmp_path / "worker-12-"


def test_a_leaf_that_cannot_be_taken_away_is_left_alone(tmp_path: Path) -> None:
    domain = Domain(tmp_path, frozenset())
    first = domain.leaf(1, "job")
    assert domain.leaf(1, "job").path == first.path, "an empty one is used again"
    (first.path / "busy").touch()
    assert domain.leaf(1, "job").path == tmp_path / "worker-1-job-2"
    assert not domain.of_slot(1).remove()
    (first.path / "busy").unlink()
    assert domain.of_slot(1).remove()
    assert not list(tmp_path.iterdir())


def test_a_slots_cgroups_are_its_own_and_all_are_those_of_jobs(tmp_path: Path) -> None:
    domain = Domain(tmp_path, frozenset())
    for name in ("daemon", ".control", "worker-1-a", "worker-11-a", "worker-2-a"):
        (tmp_path / name).mkdir()
    assert domain.of_slot(1).remove()
    assert {one.name for one in tmp_path.iterdir()} == {"daemon", ".control", "worker-11-a", "worker-2-a"}
    assert domain.of_all().remove()
    assert {one.name for one in tmp_path.iterdir()} == {"daemon", ".control"}


def test_where_there_is_no_tree_no_leaf_is_made(tmp_path: Path) -> None:
    with pytest.raises(Refused) as wrong:
        Domain(tmp_path / "gone", frozenset()).leaf(1, "job")
    assert wrong.value.strerror == "no cgroup can be made: No such file or directory"
    assert Domain(tmp_path / "gone", frozenset()).of_all().pids() == []
