"""What a reload says of a configuration's changes."""

from pathlib import Path

from sqlqd.config import Config, load
from sqlqd.config.changes import changes, lasting

BASE = """
[daemon]
database = "queue.db"
workers = 4
[queues.mail]
command = "mail"
env = { TOKEN = "old" }
[queues.old]
command = "old"
"""


def loaded(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "sqlqd.toml"
    path.write_text(text)
    return load(path)


def test_what_changed_is_named_without_the_values_of_queues(tmp_path: Path) -> None:
    old = loaded(tmp_path, BASE)
    text = BASE.replace("workers = 4", 'workers = 6\nlog_level = "debug"').replace("queues.old", "queues.new")
    new = loaded(tmp_path, text.replace('"old" }', '"s3cret" }'))
    assert changes(old, new) == (
        "queues added: new; queues removed: old; queues changed: mail; "
        "workers 4 -> 6; log_level info -> debug"
    )
    assert changes(old, old) == "nothing changed"


def test_many_queues_are_counted(tmp_path: Path) -> None:
    old = loaded(tmp_path, BASE)
    more = "".join(f'[queues.q{n}]\ncommand = "true"\n' for n in range(9))
    assert changes(old, loaded(tmp_path, BASE + more)) == "queues added: 9 of them"


def test_the_database_stays_until_a_restart(tmp_path: Path) -> None:
    old = loaded(tmp_path, BASE)
    new = loaded(tmp_path, BASE.replace("queue.db", "other.db").replace("workers = 4", "workers = 5"))
    where = tmp_path / "queue.db"
    assert changes(old, new) == f"workers 4 -> 5; the database stays {where} until the daemon is restarted"
    kept = lasting(old, new)
    assert (kept.daemon.database, kept.daemon.workers) == (where, 5)
