"""What a queue's limits come to: in files of a cgroup, in its place, in words."""

from pathlib import Path

import pytest

from sqlqd import limits
from sqlqd.cgroup import Domain
from sqlqd.cli import confined
from sqlqd.cli.confined import Standing
from sqlqd.config import ConfigError, Queue, load

ALL = frozenset({"memory", "cpu", "pids"})
NONE: frozenset[str] = frozenset()


def queue(**more: object) -> Queue:
    return Queue(name="q", command=":", cwd=Path("/"), **more)  # type: ignore[arg-type]  # a test's own settings


LIMITED = queue(memory_max=64 * 1024**2, cpu_quota=50.0, tasks_max=20)


def test_every_limit_goes_into_its_file() -> None:
    assert limits.files(LIMITED, ALL) == {
        "memory.oom.group": "1",
        "memory.swap.max": "0",
        "memory.max": "67108864",
        "cpu.max": "50000 100000",
        "pids.max": "20",
    }


def test_a_file_is_written_only_where_there_is_its_controller() -> None:
    assert limits.files(LIMITED, NONE) == {}
    assert limits.files(LIMITED, {"pids"}) == {"pids.max": "20"}
    assert limits.files(queue(), ALL) == {"memory.oom.group": "1"}


@pytest.mark.parametrize(
    ("percent", "written"), [(1.0, "1000"), (33.3, "33300"), (100.0, "100000"), (250.0, "250000")]
)
def test_a_quota_is_a_share_of_one_processor(percent: float, written: str) -> None:
    assert limits.files(queue(cpu_quota=percent), ALL)["cpu.max"] == f"{written} 100000"


def test_without_the_controller_each_process_is_held_to_the_memory() -> None:
    assert limits.data_limit(LIMITED, {"cpu"}) == 64 * 1024**2
    assert limits.data_limit(LIMITED, ALL) is None
    assert limits.data_limit(queue(), NONE) is None


def test_a_want_of_memory_names_the_limit_only_where_it_was_met() -> None:
    assert limits.want_of_memory(LIMITED, met_limit=True) == "it used more than memory_max = 64MiB"
    assert limits.want_of_memory(LIMITED, met_limit=False) == "no memory was left for it"
    assert limits.want_of_memory(queue(), met_limit=True) == "no memory was left for it"


def test_check_tells_what_is_in_force() -> None:
    nobody = confined.together([])
    bare = confined.together([None, Domain(Path("/x"), ALL)])
    whole = confined.together([Domain(Path("/x"), ALL)])
    part = confined.together([Domain(Path("/x"), ALL), Domain(Path("/y"), frozenset({"memory"}))])
    assert confined.in_force(LIMITED, nobody) is None
    assert confined.in_force(LIMITED, bare) == []
    assert confined.in_force(LIMITED, whole) == ["memory_max", "cpu_quota", "tasks_max"]
    assert confined.in_force(LIMITED, part) == ["memory_max"]
    assert confined.told(LIMITED) == "64MiB of memory, 50% of a processor, 20 processes"


@pytest.mark.parametrize(
    ("standing", "told"),
    [
        (Standing(runs=False), ["memory_max and cpu_quota are in force only under a unit with Delegate=yes"]),
        (Standing(runs=True), ["memory_max holds for each process", "cpu_quota is not in force: that needs"]),
        (
            Standing(runs=True, delegated=True, controllers=frozenset({"memory"})),
            ["cpu_quota is not in force: the system gives the daemon's unit no controller cpu"],
        ),
        (Standing(runs=True, delegated=True, controllers=ALL), []),
    ],
)
def test_a_warning_tells_what_would_bring_a_limit(standing: Standing, told: list[str]) -> None:
    found = confined.warnings(queue(memory_max=1024**2, cpu_quota=10.0), standing)
    assert len(found) == len(told)
    assert all(text.startswith(start) for text, start in zip(found, told, strict=True))
    assert confined.warnings(queue(), standing) == []


def test_limits_are_read_in_systemds_words(tmp_path: Path) -> None:
    path = tmp_path / "sqlqd.toml"
    head = '[daemon]\ndatabase = "q.db"\n[queues.q]\ncommand = ":"\n'
    path.write_text(f'{head}memory_max = "64M"\ncpu_quota = "150%"\ntasks_max = 20\n')
    read = load(path).queues["q"]
    assert (read.memory_max, read.cpu_quota, read.tasks_max) == (64 * 1024**2, 150.0, 20)
    path.write_text(f'{head}memory_max = "64k"\ncpu_quota = 50\ntasks_max = 0\n')
    with pytest.raises(ConfigError) as wrong:
        load(path)
    assert len(wrong.value.problems) == 3
    assert 'cpu_quota: must be a percentage such as "50%"' in wrong.value.problems[1]


@pytest.mark.parametrize("wrong", ["50", "-5%", "0%", "0.5%", "1e3%", "nan%", "999999%", "%", "50%%"])
def test_what_is_no_percentage_is_refused(tmp_path: Path, wrong: str) -> None:
    path = tmp_path / "sqlqd.toml"
    path.write_text(f'[daemon]\ndatabase = "q.db"\n[queues.q]\ncommand = ":"\ncpu_quota = "{wrong}"\n')
    with pytest.raises(ConfigError, match="cpu_quota: must be"):
        load(path)
