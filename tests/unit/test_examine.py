"""Each finding from the values that show it, and nothing from those that do not."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from sqlqd.condition import Condition, Distant
from sqlqd.examine import Finding, Severity, access, content, service, storage
from sqlqd.examine.access import Paper
from sqlqd.examine.storage import Log, Mount, Process
from sqlqd.model import Overview, QueueCount, WorkerSeen
from sqlqd.room import Space
from sqlqd.troubles import Trouble

NOW = 1_800_000_000.0
MIB = 1024 * 1024
DB = "/var/lib/sqlqd/queue.db"
SHELL = Process(42, "sqlite3")
PROBLEM, NOTE, UNSEEN = Severity.PROBLEM, Severity.NOTE, Severity.UNSEEN


def only(found: Iterator[Finding], severity: Severity, *words: str) -> None:
    """One finding, of that severity, with these words in it, and something to do."""
    (one,) = found
    assert one.severity is severity, one
    for word in words:
        assert word in one.sentence, one
    assert one.about
    assert one.remedy
    assert "\n" not in one.sentence


def none(found: Iterator[Finding]) -> None:
    assert list(found) == []


def test_the_library() -> None:
    none(storage.library("3.51.3", safe=True))
    only(storage.library("3.46.0", safe=False), PROBLEM, "SQLite 3.46.0 can lose", "upgrade apsw")


@pytest.mark.parametrize(
    ("kind", "severity", "words"),
    [
        ("nfs4", PROBLEM, "network file system (nfs4 at /data)"),
        ("cifs", PROBLEM, "local disk"),
        ("fuse.sshfs", PROBLEM, "network"),
        ("tmpfs", PROBLEM, "gone with the next boot"),
        ("9p", NOTE, "may not have the locks"),
        ("fuse.bindfs", NOTE, "may not have the locks"),
        ("overlay", NOTE, "volume"),
    ],
)
def test_file_systems_that_do_not_do(kind: str, severity: Severity, words: str) -> None:
    only(storage.file_system(Mount(kind, "/data"), DB), severity, words)


def test_file_systems_that_do() -> None:
    for kind in ("ext4", "xfs", "btrfs", "zfs", "f2fs"):
        none(storage.file_system(Mount(kind, "/"), DB))
    only(storage.file_system(None, DB), UNSEEN, "on what file system")


def test_room() -> None:
    none(storage.room(Space(5000 * MIB, 1_000_000 * MIB, None), "/var"))
    none(storage.room(Space(300 * MIB, 1000 * MIB, 5000), "/var"))
    only(
        storage.room(Space(63 * MIB, 1000 * MIB, 5000), "/var"), PROBLEM, "63MiB of 1000MiB are free in /var"
    )
    only(storage.room(Space(900 * MIB, 100_000 * MIB, None), "/var"), NOTE, "900MiB of 98GiB")
    only(storage.room(Space(5000 * MIB, 9000 * MIB, 3), "/var"), PROBLEM, "only 3 more files", "df -i")


def test_the_log_and_who_holds_it() -> None:
    none(storage.log(Log(63 * MIB), daemon_runs=True))
    held = Log(80 * MIB, readers=(SHELL,), watched=0.5)
    only(storage.log(held, daemon_runs=True), PROBLEM, "has 80MiB", "by sqlite3 (pid 42)")
    only(storage.log(replace(held, size=MIB), daemon_runs=True), NOTE, "sqlite3 (pid 42)", "at least 500ms")
    only(storage.log(Log(80 * MIB), daemon_runs=False), PROBLEM, "start the daemon")
    only(storage.log(Log(80 * MIB), daemon_runs=True), PROBLEM, "nobody was seen")
    only(
        storage.log(Log(0, writers=(SHELL,), watched=0.5), daemon_runs=True),
        PROBLEM,
        "kept the database locked",
    )


def test_names_of_processes_are_made_fit_to_be_shown() -> None:
    only(
        storage.log(Log(0, writers=(Process(1, "a\x1b[2J"),)), daemon_runs=True), PROBLEM, r"a\x1b[2J (pid 1)"
    )


def test_a_file_that_is_gone() -> None:
    none(storage.removed([], DB))
    only(storage.removed([SHELL], DB), PROBLEM, "sqlite3 (pid 42) has a file open that was")


def test_structure() -> None:
    none(storage.structure((), DB, seconds=5.0))
    only(storage.structure(None, DB, seconds=5.0), UNSEEN, "longer than 5s", "--full")
    only(
        storage.structure(["row 3 missing\n"], DB, seconds=5.0),
        PROBLEM,
        r"damaged: row 3 missing\n",
        "restore",
    )


FOLDER = Paper("/var/lib/sqlqd", 0o2770, "sqlqd", "sqlqd", shared=True)
FILE = Paper(DB, 0o660, "sqlqd", "sqlqd", shared=True)
LOG = Paper(f"{DB}-wal", 0o660, "ada", "sqlqd", shared=True)
Papers = tuple[Paper, Paper, Paper, Paper]
"""The directory, the database, its log and the configuration."""
CONFIG = Paper("/etc/sqlqd/sqlqd.toml", 0o640, "root", "sqlqd", shared=True)


@pytest.mark.parametrize(
    ("papers", "severity", "words"),
    [
        ((replace(FOLDER, mode=0o777), FILE, LOG, CONFIG), PROBLEM, "chmod o-w /var/lib/sqlqd"),
        ((FOLDER, replace(FILE, mode=0o662), replace(LOG, mode=0o662), CONFIG), PROBLEM, "change every job"),
        ((FOLDER, FILE, LOG, replace(CONFIG, mode=0o646)), PROBLEM, "every user decides what is run"),
        ((FOLDER, FILE, LOG, replace(CONFIG, mode=0o660)), NOTE, "group sqlqd decides what is run"),
        (
            (FOLDER, FILE, replace(LOG, mode=0o644), CONFIG),
            PROBLEM,
            "chown sqlqd:sqlqd /var/lib/sqlqd/queue.db-wal",
        ),
        ((FOLDER, FILE, replace(LOG, group="ada"), CONFIG), PROBLEM, "not as open as"),
        ((FOLDER, replace(FILE, group="ada"), replace(LOG, group="ada"), CONFIG), PROBLEM, "chgrp sqlqd"),
        ((replace(FOLDER, mode=0o2750), FILE, LOG, CONFIG), NOTE, "chmod 2770 /var/lib/sqlqd"),
        ((replace(FOLDER, mode=0o770), FILE, LOG, CONFIG), NOTE, "chmod g+s /var/lib/sqlqd"),
        ((replace(FOLDER, mode=0o2775), replace(FILE, mode=0o664), LOG, CONFIG), NOTE, "read every payload"),
    ],
)
def test_rights_that_are_not_right(papers: Papers, severity: Severity, words: str) -> None:
    folder, file, log, config = papers
    found = list(access.access(folder, file, [log], config))
    only((one for one in found if words in one.sentence), severity)
    assert len(found) <= 2


def test_rights_that_are() -> None:
    none(access.access(FOLDER, FILE, [LOG], CONFIG))
    none(access.access(FOLDER, None, [], None))
    # Of one's own: nobody else is in the group.
    own = Paper("/home/ada/queue.db", 0o660, "ada", "ada")
    none(access.access(Paper("/home/ada", 0o755, "ada", "ada"), own, [own], replace(own, mode=0o664)))
    private = replace(own, mode=0o600)
    none(access.access(Paper("/home/ada", 0o700, "ada", "ada"), private, [private], None))
    only(access.refused([DB], "sqlqd"), PROBLEM, f"sqlqd may not write {DB}")


FINE = Condition(NOW, 4, 4, added_at=NOW - 5, written_at=NOW + 1)


def test_clocks() -> None:
    none(content.clock(FINE))
    none(content.clock(replace(FINE, added_at=None, written_at=None)))
    only(
        content.clock(replace(FINE, written_at=NOW + 3600)),
        PROBLEM,
        "1h before the newest record",
        "set back",
    )
    only(content.clock(replace(FINE, added_at=NOW + 3600)), NOTE, "1h from now", "`created_at`")
    far = Distant(2, "f00d", NOW + 1e9)
    only(content.clock(replace(FINE, distant=far)), NOTE, "2 jobs are due in more than a year", "show f00d")


def test_schema() -> None:
    none(content.schema(FINE, DB))
    only(content.schema(replace(FINE, schema=3), DB), PROBLEM, "schema 3", "restart")


def test_leases() -> None:
    busy = WorkerSeen("bb", 77, 2, 502, NOW, "f00d", "mail", NOW)
    seen = Overview(NOW, (QueueCount("mail", running=1),), (busy,), ())
    none(content.leases(FINE, seen, daemon_runs=True))
    more = replace(seen, queues=(QueueCount("mail", running=3),))
    only(content.leases(FINE, more, daemon_runs=True), NOTE, "2 jobs are held by other programs")
    gone = replace(more, workers=())
    only(
        content.leases(replace(FINE, overdue=3), gone, daemon_runs=False),
        NOTE,
        "3 jobs are held by workers that",
    )
    only(
        content.leases(replace(FINE, overdue=1), seen, daemon_runs=True), PROBLEM, "1 job is held by a lease"
    )


def test_what_status_tells_is_told() -> None:
    grave, mild = Trouble("a", "b", grave=True), Trouble("c", "d", grave=False)
    assert [one.severity for one in content.at_a_glance([grave, mild])] == [PROBLEM, NOTE]


SHOWN = """\
Type=notify
Restart=on-failure
NotifyAccess=main
TimeoutStopUSec=1min 30s
KillMode=mixed
Id=sqlqd.service
LoadState=loaded
NeedDaemonReload=no
"""


def test_a_unit_as_it_is_shipped_is_in_order() -> None:
    unit = service.read(SHOWN)
    assert unit is not None
    assert (unit.name, unit.heard, unit.stop) == ("sqlqd.service", True, 90.0)
    # It asks for the time that it needs.
    none(service.service(unit, drain=3600.0))
    assert service.read("LoadState=not-found\n") is None
    assert service.read("") is None


@pytest.mark.parametrize(
    ("change", "severity", "words"),
    [
        (("KillMode=mixed", "KillMode=control-group"), PROBLEM, "ends running commands at once"),
        (("KillMode=mixed", "KillMode=process"), PROBLEM, "runs on"),
        (("Restart=on-failure", "Restart=no"), NOTE, "stays dead"),
        (("NeedDaemonReload=no", "NeedDaemonReload=yes"), NOTE, "daemon-reload"),
    ],
)
def test_units_that_are_not(change: tuple[str, str], severity: Severity, words: str) -> None:
    unit = service.read(SHOWN.replace(*change))
    assert unit is not None
    only(service.service(unit, drain=40.0), severity, words)


def test_a_drain_that_systemd_cuts_short() -> None:
    unit = service.read(
        SHOWN.replace("Type=notify", "Type=simple").replace("NotifyAccess=main", "NotifyAccess=none")
    )
    assert unit is not None
    only(service.service(unit, drain=89.0), NOTE, "Type=notify")
    mild, grave = service.service(unit, drain=610.0)
    assert (mild.severity, grave.severity) == (NOTE, PROBLEM)
    assert "TimeoutStopSec=1min 30s, and a stop may need 10min 10s" in grave.text
    assert "TimeoutStopSec=10min 20s" in grave.remedy
    unbounded = service.read(
        SHOWN.replace("=notify", "=simple").replace("=main", "=").replace("1min 30s", "infinity")
    )
    assert unbounded is not None
    only(service.service(unbounded, drain=1e6), NOTE, "Type=notify")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("0::/system.slice/sqlqd.service\n", "sqlqd.service"),
        ("0::/system.slice/system-sqlqd.slice/sqlqd@mail.service/daemon\n", "sqlqd@mail.service"),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/sqlqd.service\n", "sqlqd.service"),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/vte.scope\n", None),
        ("0::/user.slice/user-1000.slice/session-3.scope\n", None),
        ("", None),
    ],
)
def test_the_service_of_a_process(text: str, name: str | None) -> None:
    assert service.of_cgroup(text) == name
