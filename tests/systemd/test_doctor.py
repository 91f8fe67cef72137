"""`sqlqd doctor` and the timer for metrics on a machine under systemd."""

from tests.support.booted import SOURCES, Machine
from tests.support.exposition import parse
from tests.support.service import Service

QUEUES = '[queues.quick]\ncommand = "true"\n[queues.slow]\ncommand = "true"\ndrain_timeout = "20min"\n'
FOLDER = "/var/lib/prometheus/node-exporter"


def test_the_unit_is_held_against_the_configuration(service: Service) -> None:
    service.start(QUEUES)
    healthy = service.sqlqd("doctor")
    assert healthy.returncode == 0, healthy.stdout
    assert service.unit not in healthy.stdout
    # A member of the group sees less, and hears of it.
    member = service.sqlqd("doctor", user="alice")
    assert "not examined: " in member.stdout
    assert "problem" not in member.stdout, member.stdout
    # A watchdog would imply that the daemon is listened to.
    quiet = ("Type=exec", "NotifyAccess=none", "WatchdogSec=0")
    service.unit_lines("KillMode=control-group", "Restart=no", *quiet)
    told = service.sqlqd("doctor")
    assert told.returncode == 1
    for words in (
        f"problem: {service.unit} has KillMode=control-group",
        f"problem: {service.unit} has TimeoutStopSec=1min 30s, and a stop may need 20min ",
        f"note: {service.unit} has Restart=no",
    ):
        assert words in told.stdout, told.stdout


def test_the_timer_writes_what_the_collector_reads(installed: Machine) -> None:
    installed.good("mkdir", "-p", FOLDER)
    for end in ("service", "timer"):
        text = (SOURCES / "systemd" / f"sqlqd-metrics.{end}").read_text(encoding="utf-8")
        installed.write(f"/etc/systemd/system/sqlqd-metrics.{end}", text)
    installed.good("systemctl", "daemon-reload")
    verified = installed.run("systemd-analyze", "verify", "sqlqd-metrics.service", "sqlqd-metrics.timer")
    assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")
    started = installed.run("systemctl", "start", "sqlqd-metrics.service")
    assert started.returncode == 0, installed.run("journalctl", "-u", "sqlqd-metrics").stdout
    told = parse(installed.run("cat", f"{FOLDER}/sqlqd.prom").stdout)
    assert told["sqlqd_up"][1] == {(): 1}
    assert installed.good("stat", "-c", "%a", f"{FOLDER}/sqlqd.prom").strip() == "644"
    assert installed.good("ls", "-A", FOLDER).split() == ["sqlqd.prom"]
    # Nor anything beside the database that the daemon or the group could not use.
    owners = installed.good("stat", "-c", "%G", "/var/lib/sqlqd", "/var/lib/sqlqd/queue.db").split()
    assert owners == ["sqlqd", "sqlqd"]
    installed.good("systemctl", "enable", "--now", "sqlqd-metrics.timer")
    installed.good("systemctl", "disable", "--now", "sqlqd-metrics.timer")
