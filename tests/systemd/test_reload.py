"""`systemctl reload`: back when the new configuration is in force, or when it is known that it cannot be."""

from tests.support.service import Service

ECHO = '[queues.echo]\ncommand = "echo {word}"\n'
SLEEPER = '[queues.sleeper]\ncommand = "echo began; sleep 3"\ntimeout = "1min"\n'


def test_the_new_configuration_is_in_force_when_reload_returns(service: Service) -> None:
    service.start(SLEEPER, workers=1)
    pid, running = service.pid, service.enqueue("sleeper")
    service.record("job.output", job_id=running)
    service.configure(SLEEPER + ECHO.format(word="new"), workers=2)
    service.systemctl("reload")
    assert service.records("daemon.reloaded")
    service.until(lambda: "of 2 workers busy" in service.show("StatusText"), "it counts both workers")
    job = service.enqueue("echo")
    assert service.record("job.output", job_id=job)["line"] == "new"
    service.until_state(running, "done")
    assert len(service.records("job.started", job_id=running)) == 1
    assert service.pid == pid


def test_a_broken_file_changes_nothing_and_says_so(service: Service) -> None:
    service.start(ECHO.format(word="old"))
    pid = service.pid
    service.configure('[queues.echo]\ncommand = "echo broken"\nretires = 3\n')
    service.systemctl("reload")
    assert service.show("ActiveState") == "active"
    assert service.pid == pid
    failed = service.record("daemon.reload_failed")
    assert f"{service.config}:" in failed["reason"]
    assert "retires" in failed["reason"]
    service.until(lambda: "reload failed: " in service.show("StatusText"), "systemd is told")
    service.configure(ECHO.format(word="mended"))
    job = service.enqueue("echo")
    assert service.record("job.output", job_id=job)["line"] == "old"
    service.systemctl("reload")
    service.until(lambda: "reload failed" not in service.show("StatusText"), "systemd is told again")


def test_another_database_is_said_to_need_a_restart(service: Service) -> None:
    service.start(ECHO.format(word="old"))
    service.machine.shell('sed -i "s/queue.db/other.db/" "$1"', service.config)
    service.systemctl("reload")
    assert service.show("ActiveState") == "active"
    service.until(lambda: "restart" in service.told(), "it says so")
    service.machine.good("test", "!", "-e", f"{service.home}/other.db")
