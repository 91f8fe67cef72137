"""A command that takes all memory is ended, and it alone: the service and the others go on."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.service import Service

QUEUES = """
[queues.hungry]
command = ["/usr/bin/python3", "-c", "x = b'x' * 10**9"]
max_attempts = 2
backoff = { initial = "10ms", jitter = 0.0 }
timeout = "30s"

[queues.modest]
command = "echo began; sleep 3; echo ended"
max_attempts = 1
timeout = "30s"
"""


@pytest.mark.case("C51")
def test_the_hungry_command_dies_and_the_service_goes_on(service: Service) -> None:
    service.start(QUEUES)
    assert service.show("OOMPolicy") == "continue"
    modest = service.enqueue("modest")
    service.record("job.output", job_id=modest)
    with limited_memory(service, 200 * 2**20):
        hungry = service.enqueue("hungry")
        dead = service.record("job.dead", job_id=hungry)
        service.until_state(modest, "done")
    assert dead["attempt"] == "2"
    assert {record["signal"] for record in service.records("job.failed", job_id=hungry)} == {"SIGKILL"}
    assert service.restarts == 0
    assert not service.records("worker.crashed")


@contextmanager
def limited_memory(service: Service, most: int) -> Iterator[None]:
    """The service's processes have so many bytes at most, by the controller that this system has."""
    if "memory" in service.machine.good("cat", "/sys/fs/cgroup/cgroup.controllers").split():
        service.machine.good("systemctl", "set-property", "--runtime", service.unit, f"MemoryMax={most}")
        yield
        return
    older = Path("/sys/fs/cgroup/memory")
    if not (older / "memory.limit_in_bytes").exists():
        pytest.skip("there is no memory controller, of neither kind")
    limited = older / service.machine.cgroup.name
    limited.mkdir()
    try:
        (limited / "memory.limit_in_bytes").write_text(str(most))
        inside = service.machine.cgroup / service.show("ControlGroup").lstrip("/") / "cgroup.procs"
        for pid in inside.read_text().split():
            (limited / "cgroup.procs").write_text(pid)
        yield
    finally:
        service.end()
        limited.rmdir()
