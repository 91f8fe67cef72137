"""Every event that is logged: its level, its wording for people, and an id that stays whatever the wording.

The names are public (scripts and alerts match on them), and so are the ids, which a journal carries as
MESSAGE_ID: neither may ever change its meaning.
"""

from dataclasses import dataclass

DEBUG, INFO, WARNING, ERROR = "debug", "info", "warning", "error"
LEVELS = (DEBUG, INFO, WARNING, ERROR)


@dataclass(frozen=True, slots=True)
class Event:
    """What is constant about one kind of record. `wording` is a template over the record's fields."""

    level: str
    message_id: str
    wording: str


EVENTS = {
    "daemon.ready": Event(INFO, "e50201160b6e4ff1adde07565de2fd89", "ready: {workers} workers on {database}"),
    "daemon.reloaded": Event(
        INFO, "4c7fc229ffb14d96b04dd32e29583f54", "configuration loaded again: {changes}"
    ),
    "daemon.reload_failed": Event(
        ERROR,
        "5b757891f6934bd28db0f96583be1c1c",
        "configuration not loaded, the old one stays in force: {reason}",
    ),
    "daemon.database_stays": Event(
        WARNING,
        "00ca918422f44807a14472e8b6399b04",
        "the database stays {database} until the daemon is restarted, and what is enqueued goes to {reason} "
        "from now on: restart it soon",
    ),
    "daemon.stopping": Event(INFO, "46919d381139457791bd7903c077d131", "stopping: {reason}"),
    "daemon.stopped": Event(INFO, "349b34cb7ef049a39b5d7e89bbe8467a", "stopped"),
    "daemon.failed": Event(ERROR, "91bbc787e97f415081f816076a7fa3d3", "cannot run: {reason}"),
    "watchdog.withheld": Event(
        ERROR,
        "d86d1d2d42934b4e92d7b4d0e86ce2a5",
        "no sign of life is given to systemd, which will start the daemon anew: {reason}",
    ),
    "signal.ignored": Event(INFO, "4106ee92f6d94c1092fc7fa61b5cf5c4", "{signal} changes nothing: {reason}"),
    "process.failed": Event(
        ERROR, "6f0c1263c3b94f37a7161232736ce196", "a mistake in sqlqd itself ended a process: {reason}"
    ),
    "worker.started": Event(INFO, "85f9f5e82492435a81cd661e4f069ca5", "worker {worker} started"),
    "worker.exited": Event(INFO, "d1e93e5ff15d426c820c784dd8751e5d", "worker {worker} left"),
    "worker.crashed": Event(ERROR, "95032fba671c4497a5331dc22dcb6eeb", "worker {worker} died: {reason}"),
    "worker.stuck": Event(
        ERROR, "9f540a90f70145ed94d9220491872e4f", "worker {worker} makes no progress and is ended: {reason}"
    ),
    "worker.cannot_start": Event(
        ERROR, "4ac8a532a5554f59b5d6c54a658872fa", "worker {worker} cannot work: {reason}"
    ),
    "steward.started": Event(INFO, "97e1d7e0aeb5422c9f129d1698e920b4", "steward started"),
    "steward.exited": Event(INFO, "956ea069c07d47e0ac848c3147ed8290", "steward left"),
    "steward.crashed": Event(ERROR, "876b044b7fdb404cb073f11e15d48823", "steward died: {reason}"),
    "steward.stuck": Event(
        ERROR, "713fb4e7ed754dc7b30762f7b0e19a5d", "steward makes no progress and is ended: {reason}"
    ),
    "steward.cannot_start": Event(ERROR, "c6f9bc2747014265a0a7fe66dd45505a", "steward cannot work: {reason}"),
    "job.started": Event(
        INFO, "71097c2f31c542b296ab3e413d2fc35c", "{queue} {job_id:.8} started, attempt {attempt}"
    ),
    "job.finished": Event(
        INFO, "06bd783639ec4f8abaef68cb874c42bd", "{queue} {job_id:.8} done in {duration_seconds} s"
    ),
    "job.failed": Event(WARNING, "d28f6fd00248450a84a908f772bc0e3e", "{queue} {job_id:.8} failed: {reason}"),
    "job.retry": Event(
        INFO, "b31aac27733a457b9f1c8919a5b22fc3", "{queue} {job_id:.8} tries again in {delay_seconds} s"
    ),
    "job.dead": Event(ERROR, "f24021edc40e4fa7a960dbf864f789ce", "{queue} {job_id:.8} is dead: {reason}"),
    "job.released": Event(
        INFO, "f1d71fc18d144ba58c46a4d384e56fa4", "{queue} {job_id:.8} released, no attempt counted: {reason}"
    ),
    "job.cancelled": Event(INFO, "b97a97135cd7491391c3d084e7016082", "{queue} {job_id:.8} cancelled"),
    "job.killed": Event(
        WARNING, "2a6af77af9ac45b28fb7ae2a5a5a7c69", "{queue} {job_id:.8} ended by an operator"
    ),
    "job.timeout": Event(
        WARNING, "b0305c1fa08a4ca69013ff77faefa346", "{queue} {job_id:.8} reached its timeout and is ended"
    ),
    "job.lease_lost": Event(
        ERROR, "c4d6abb03dc14d788fb40a9c1ff1285d", "{queue} {job_id:.8} given up, its lease is lost: {reason}"
    ),
    "job.output": Event(INFO, "5ba731dd54094f4e8112057ace117902", "{queue} {job_id:.8} | {line}"),
    "job.control_ignored": Event(
        WARNING,
        "96ef2815cd7049c3809e7dc1553f65f2",
        "{queue} {job_id:.8} wrote to SQLQD_CONTROL what means nothing: {reason}",
    ),
    "job.lost": Event(
        WARNING,
        "7d6982259b6543d99a8e9d3d602d4e93",
        "{queue} {job_id:.8} lost its worker in attempt {attempt}: {reason}",
    ),
    "queue.paused": Event(INFO, "04e46a87835842c7871de69e31439ab7", "queue {queue} paused"),
    "queue.resumed": Event(INFO, "41cf5c93e0d84ceabfc1ac38b2b90c5c", "queue {queue} resumed"),
    "queue.blocked": Event(
        ERROR,
        "727ab6dec99b4646864a6ed36d3fcc5f",
        "queue {queue} held for {block_seconds} s: {reason}",
    ),
    "queue.unblocked": Event(INFO, "bdf607e4ed0845e380ad09e2b9540cdb", "queue {queue} runs again"),
    "queue.limits_missing": Event(
        WARNING,
        "eb45cf9d081446019fbbbd354f2eb9ee",
        "queue {queue} is not held to all of its limits: {reason}",
    ),
    "queue.unknown": Event(
        WARNING,
        "cb0529a32c224a5faa1fc87c27830530",
        "jobs wait in queue {queue}, which is not configured: {count}",
    ),
    "schedule.skipped": Event(
        WARNING, "bb3763c6a984470082d9deaa3998c411", "schedule {schedule} skipped a run: {reason}"
    ),
    "store.waiting": Event(
        WARNING, "491d1dcb9be64afb84afce1135c4291c", "the database cannot be written, waiting: {reason}"
    ),
    "store.back": Event(
        INFO, "a9590da0b95d4762a3c0f3b71ba07679", "the database can be written again after {waited_seconds} s"
    ),
    "database.replaced": Event(
        ERROR,
        "091b0a219f4a4699af87c3f567ffa02c",
        "the database file was replaced, opening the new one: {reason}",
    ),
    "database.log_grows": Event(
        WARNING,
        "4c5f688272d6feb64ef3794f9be92967",
        "the write-ahead log has {bytes} bytes and cannot be cut: a program has been reading all along",
    ),
    "database.library": Event(
        WARNING,
        "cd533184e09dc88600ce20914ca1c660",
        "SQLite {version} can lose what was committed; use 3.51.3 or later, 3.50.7 or 3.44.6. "
        "Until then one process alone copies the log back, before other programs would",
    ),
    "wakeup.polling": Event(
        WARNING,
        "c5a5bb167789478ba1fcce9b55311aff",
        "no notice of new jobs, looking every {interval_seconds} s: {reason}",
    ),
    "tree.remains": Event(ERROR, "cf9a868a902a4d84a87b73b68c68e3ca", "a process does not end: {reason}"),
    "daemon.shared": Event(
        WARNING,
        "6f2eceeeb6544cfc9181b38d6e67df13",
        "{database} is also used by other daemons, each with workers of its own: {count}",
    ),
    "relics.ended": Event(
        WARNING,
        "b5d2e8cba6694edb8f52af40b2500c4b",
        "{count} processes that a dead or stopped worker had left were ended: {reason}",
    ),
    "log.dropped": Event(
        WARNING, "b891aeb96a144ef7ab841380d09ba664", "{count} log records could not be written"
    ),
}
