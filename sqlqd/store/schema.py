"""The schema's versions: making it, bringing it up to date, and refusing what is not ours."""

from pathlib import Path

from sqlqd.store.database import Database, Moment
from sqlqd.store.failures import StoreForeign, StoreMissing

_FOLDER = Path(__file__).with_name("migrations")
_TABLE_NAMES = (
    "SELECT name FROM sqlite_schema WHERE name IN ('jobs', 'dead_jobs', 'done_jobs', 'sqlqd_schema')"
)
WITH_REQUESTS = 2
"""From this version on running jobs can be asked to end."""
WITH_POLICIES = 3
"""From this version on keys may be shared."""
WITH_SCHEDULES = 4
WITH_PROGRESS = 5
NEWEST = 6
"""What this program writes, and the newest that it reads. Not looked up: every process would."""
_VERSION = "SELECT max(version) FROM sqlqd_schema"


def migrations() -> list[Path]:
    """The numbered files in order; each runs in one transaction and leaves its number in sqlqd_schema."""
    return [_FOLDER / f"{version:04}.sql" for version in range(1, NEWEST + 1)]


def ddl() -> str:
    """Everything that makes the newest schema in a file that has none of it."""
    return "\n".join(migration.read_text(encoding="utf-8") for migration in migrations())


def prepare(database: Database, *, create: bool, migrate: bool) -> None:
    """Have the schema there, in a version that this program can use.

    Raises StoreForeign where the file is not ours, StoreMissing where it has no schema and none is wanted.
    """
    version = database.read(lambda _: _version(database))
    if version == 0 and not create:
        raise StoreMissing(f"{database.path} holds no queue yet; `sqlqd run` and `sqlqd enqueue` make it")
    database.use_write_ahead_log()
    if version == 0:
        # All at once: nobody ever finds a file that is half made.
        _bring_to(database, NEWEST)
        version = NEWEST
    while migrate and version < NEWEST:
        version += 1
        _bring_to(database, version)
    database.schema = version


def _bring_to(database: Database, version: int) -> None:
    """Take the steps that are missing, in one transaction."""
    scripts = [migration.read_text(encoding="utf-8") for migration in migrations()[:version]]

    def body(_: Moment) -> None:
        # Asked again under the lock: several processes may start on a new file at once.
        for script in scripts[_version(database) :]:
            database.script(script)

    database.write(body, synced=True)


def _version(database: Database) -> int:
    names = {name for (name,) in database.all(_TABLE_NAMES)}
    if not names:
        return 0
    if "sqlqd_schema" not in names:
        raise StoreForeign(
            f"{database.path} has a table {min(names)} that is not sqlqd's; give the queue a file of its own"
        )
    row = database.one(_VERSION)
    version = int(row[0] or 0) if row else 0
    if version > NEWEST:
        raise StoreForeign(
            f"{database.path} has schema {version}, newer than this sqlqd's {NEWEST}; upgrade sqlqd"
        )
    return version


def insist_on_newest(database: Database) -> None:
    """Raise StoreForeign where a daemon of this version has not been on the file yet.

    Adding and looking work on any schema; whoever changes or claims jobs needs all that this program knows.
    """
    if database.schema < NEWEST:
        raise StoreForeign(
            f"{database.path} has an older sqlqd's schema; restart the daemon, which brings it up to date"
        )
