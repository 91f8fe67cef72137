"""Every statement of a running queue, by name. The operator's desk has its own beside its verbs.

Free text comes back as bytes (CAST … AS BLOB): a row that is not UTF-8 must not break the transaction
that meets it. Hot statements name their index, so that an ANALYZE by an application that shares the
file cannot turn them into scans.
"""

# In: producers. None in place of created_at cannot happen; the rest is checked by the schema.

INSERT_JOB = """
INSERT INTO jobs (id, queue, payload, priority, run_at, key, max_attempts, created_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
"""

# An id that is taken is an error here.
INSERT_PLAIN_JOB = """
INSERT INTO jobs (id, queue, payload, priority, run_at, max_attempts, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)
"""

INSERT_LATE_OR_SHARED_JOB = """
INSERT INTO jobs (id, queue, payload, priority, run_at, key, max_attempts, created_at, expires_at, shared)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO NOTHING
"""

WAITING_UP_TO = """
SELECT count(*) FROM (
    SELECT 1 FROM jobs INDEXED BY jobs_waiting WHERE locked_by IS NULL AND queue = ? LIMIT ?
)
"""

LIVE_BY_KEY = """
SELECT CAST(id AS BLOB), locked_by IS NOT NULL FROM jobs WHERE queue = ? AND key = ? AND shared = 0
"""

FOLLOWER = """
SELECT CAST(id AS BLOB) FROM jobs INDEXED BY jobs_followers
WHERE key IS NOT NULL AND shared = 1 AND locked_by IS NULL AND queue = ? AND key = ? AND run_at >= ?
"""

REPLACE_WAITING = """
UPDATE jobs SET payload = ?, run_at = ?, priority = ?, max_attempts = ?, expires_at = ?
WHERE id = ? AND locked_by IS NULL
"""

LIVE_BY_KEY_AT_FIRST = "SELECT CAST(id AS BLOB), locked_by IS NOT NULL FROM jobs WHERE queue = ? AND key = ?"
"""For a schema that is older than shared keys."""

# Out: which job is next. `queue >= ?` jumps to the next queue that has a row at all. A run_at that came past
# the schema's checks and is no number reads as long due: whoever meets the row then buries it.

LOST_HEAD = """
SELECT j.rowid, CAST(j.queue AS BLOB), q.paused_at, q.paused_until, q.blocked_until, q.blocks,
    q.rate_at, q.failures, q.broken_at, q.broken_until
FROM jobs AS j INDEXED BY jobs_lost LEFT JOIN sqlqd_queues AS q ON q.queue = j.queue
WHERE j.locked_by IS NOT NULL AND j.lost = 1 AND j.queue >= ?
ORDER BY j.queue, j.rowid LIMIT 1
"""

WAITING_HEAD = """
SELECT j.rowid, CAST(j.queue AS BLOB), q.paused_at, q.paused_until, q.blocked_until, q.blocks,
    q.rate_at, q.failures, q.broken_at, q.broken_until,
    j.priority, iif(typeof(j.run_at) = 'real', j.run_at, 0.0)
FROM jobs AS j INDEXED BY jobs_waiting LEFT JOIN sqlqd_queues AS q ON q.queue = j.queue
WHERE j.locked_by IS NULL AND j.queue >= ?
ORDER BY j.queue, j.priority DESC, j.run_at, j.rowid LIMIT 1
"""

# The head of the next lower priority of a queue: rows of one priority that lie in the future are jumped over.
LOWER_HEAD = """
SELECT rowid, priority, iif(typeof(run_at) = 'real', run_at, 0.0) FROM jobs INDEXED BY jobs_waiting
WHERE locked_by IS NULL AND queue = ? AND priority < ?
ORDER BY priority DESC, run_at, rowid LIMIT 1
"""

# The first due row below a priority, however many priorities lie in the future: 1 us for each of them,
# where a loop over LOWER_HEAD takes 2.
DUE_BELOW = """
WITH RECURSIVE below (priority) AS (
    SELECT priority FROM (
        SELECT priority FROM jobs INDEXED BY jobs_waiting
        WHERE locked_by IS NULL AND queue = ?1 AND priority < ?2 ORDER BY priority DESC LIMIT 1
    )
    UNION ALL
    SELECT (
        SELECT j.priority FROM jobs AS j INDEXED BY jobs_waiting
        WHERE j.locked_by IS NULL AND j.queue = ?1 AND j.priority < below.priority
        ORDER BY j.priority DESC LIMIT 1
    ) FROM below WHERE below.priority IS NOT NULL
)
SELECT (
    SELECT j.rowid FROM jobs AS j INDEXED BY jobs_waiting
    WHERE j.locked_by IS NULL AND j.queue = ?1 AND j.priority = below.priority AND j.run_at <= ?3
    ORDER BY j.run_at, j.rowid LIMIT 1
) AS due FROM below WHERE due IS NOT NULL LIMIT 1
"""

HELD_UP_TO = """
SELECT count(*) FROM (
    SELECT 1 FROM jobs INDEXED BY jobs_held WHERE locked_by IS NOT NULL AND queue = ? LIMIT ?
)
"""

# The payload only where it fits: nobody wants a gigabyte in memory to learn that it is too much.
CANDIDATE = """
SELECT CAST(id AS BLOB), CAST(key AS BLOB),
    CASE WHEN octet_length(payload) <= ?2 THEN CAST(payload AS BLOB) END, octet_length(payload),
    priority, run_at, attempts, max_attempts, created_at,
    CASE WHEN octet_length(last_error) <= 65536 THEN CAST(last_error AS BLOB) END, crashes, lost,
    expires_at, shared
FROM jobs WHERE rowid = ?1
"""

IS_JSON = "SELECT json_valid(payload) FROM jobs WHERE rowid = ?"

# Whoever rewrites a row has all of it in memory: an error that is too long for any of ours is dropped unread.
GIVE = """
UPDATE jobs SET locked_by = ?, locked_until = ?, claimed_at = ?, lease_boot = ?, lease_end = ?, lost = 0,
    attempts = attempts + 1, last_error = CASE WHEN octet_length(last_error) <= 65536 THEN last_error END
WHERE rowid = ?
"""

# Rates, breakers and keys that take turns.

COUNT_START = """
INSERT INTO sqlqd_queues (queue, rate_at) VALUES (?1, ?2) ON CONFLICT (queue) DO UPDATE SET rate_at = ?2
"""

COUNT_FAILURE = """
INSERT INTO sqlqd_queues (queue, failures) VALUES (?, 1)
ON CONFLICT (queue) DO UPDATE SET failures = min(failures + 1, 1000000000) RETURNING failures
"""

BREAK = "UPDATE sqlqd_queues SET broken_at = ?2, broken_until = ?3 WHERE queue = ?1"

FAILURES_OF = "SELECT failures, broken_until FROM sqlqd_queues WHERE queue = ? AND failures > 0"

COUNT_SUCCESS = "UPDATE sqlqd_queues SET failures = 0, broken_at = NULL, broken_until = NULL WHERE queue = ?"

# The first due job of a priority whose key does not run. Those whose key does are passed over one by one.
EXCLUSIVE_DUE = """
SELECT j.rowid FROM jobs AS j INDEXED BY jobs_waiting
WHERE j.locked_by IS NULL AND j.queue = ?1 AND j.priority = ?2 AND j.run_at <= ?3
    AND (j.key IS NULL OR NOT EXISTS (
        SELECT 1 FROM jobs AS held INDEXED BY jobs_key_held
        WHERE held.key IS NOT NULL AND held.locked_by IS NOT NULL AND held.queue = ?1 AND held.key = j.key
    ))
ORDER BY j.run_at, j.rowid LIMIT 1
"""

# What there is to tell of the job that was buried last.
BURIED_LAST = """
SELECT CAST(id AS BLOB), CAST(queue AS BLOB), CAST(key AS BLOB),
    CASE WHEN octet_length(payload) <= 65536 THEN CAST(payload AS BLOB) END, CAST(reason AS BLOB),
    attempts, created_at, died_at,
    CASE WHEN octet_length(last_error) <= 65536 THEN CAST(last_error AS BLOB) END
FROM dead_jobs WHERE rowid = last_insert_rowid()
"""

INSERT_HEIR = "INSERT INTO jobs (queue, payload, run_at, created_at) VALUES (?1, ?2, ?3, ?3)"

KEEP_SHARED = """
UPDATE dead_jobs SET shared = 1
WHERE id = (SELECT id FROM jobs WHERE rowid = ?1 AND shared = 1)
"""

PROBE_QUEUE = "UPDATE sqlqd_queues SET blocked_until = ? WHERE queue = ?"

# An id that is among the dead already must not keep a job from being buried: the newer one stays. Nor must
# what is no number, behind the schema's back, where there has to be one.
BURY_ROW = """
INSERT OR REPLACE INTO dead_jobs (id, queue, key, priority, run_at, created_at, attempts, max_attempts,
    crashes, claimed_at, died_at, reason, payload, last_error)
SELECT coalesce(id, lower(hex(randomblob(16)))), queue, key, coalesce(CAST(priority AS INTEGER), 0),
    coalesce(CAST(run_at AS REAL), 0), coalesce(CAST(created_at AS REAL), 0),
    coalesce(CAST(attempts AS INTEGER), 0), CAST(max_attempts AS INTEGER),
    coalesce(CAST(crashes AS INTEGER), 0), CAST(claimed_at AS REAL), ?2, ?3, coalesce(payload, ''),
    coalesce(?4, CASE WHEN octet_length(last_error) <= 65536 THEN last_error END, ?3)
FROM jobs WHERE rowid = ?1
"""

DELETE_ROW = "DELETE FROM jobs WHERE rowid = ?"

# A claim's end. Every one of them matches the token.

RENEW = """
UPDATE jobs SET locked_until = ?, lease_boot = ?, lease_end = ?, lost = 0 WHERE id = ? AND locked_by = ?
"""

HELD_ROW = "SELECT rowid FROM jobs WHERE id = ? AND locked_by = ?"

DELETE_HELD = "DELETE FROM jobs WHERE id = ? AND locked_by = ?"

ASKED = "SELECT what FROM sqlqd_requests WHERE job_id = ? AND token = ?"

PUT_PROGRESS = """
INSERT INTO sqlqd_progress (job_id, token, percent, text, said_at)
SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM jobs WHERE id = ?1 AND locked_by = ?2)
ON CONFLICT (job_id) DO UPDATE SET token = ?2, percent = ?3, text = ?4, said_at = ?5
"""

ASKED_OF_ROW = """
SELECT what FROM sqlqd_requests
WHERE (job_id, token) = (SELECT id, locked_by FROM jobs WHERE rowid = ?)
"""

GIVE_BACK = """
UPDATE jobs SET locked_by = NULL, locked_until = NULL, lease_boot = NULL, lease_end = NULL, lost = 0,
    run_at = coalesce(?, run_at), last_error = coalesce(?, last_error), attempts = max(0, attempts - ?)
WHERE id = ? AND locked_by = ?
"""

INSERT_DONE = """
INSERT OR REPLACE INTO done_jobs (id, queue, key, attempts, ended_at, outcome, duration, exit_code,
    keep_until)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

INSERT_ATTEMPT = """
INSERT INTO sqlqd_attempts (job_id, number, started_at, ended_at, outcome, exit_code, signal, cpu, error,
    worker)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

TRIM_ATTEMPTS = """
DELETE FROM sqlqd_attempts WHERE entry = (
    SELECT entry FROM sqlqd_attempts INDEXED BY sqlqd_attempts_job
    WHERE job_id = ? ORDER BY entry DESC LIMIT 1 OFFSET ?
)
"""

FORGET_ATTEMPTS = "DELETE FROM sqlqd_attempts WHERE job_id = ?"

COUNT = """
INSERT INTO sqlqd_counters (queue, slot, outcome, n) VALUES (?, ?, ?, 1)
ON CONFLICT (queue, slot, outcome) DO UPDATE SET n = n + 1
"""

BLOCK = """
INSERT INTO sqlqd_queues (queue, blocked_until, blocks, reason) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (queue) DO UPDATE SET blocked_until = ?2, blocks = max(blocks, ?3), reason = ?4
"""

IS_BLOCKED = "SELECT 1 FROM sqlqd_queues WHERE queue = ? AND blocks > 0"

UNBLOCK = "UPDATE sqlqd_queues SET blocked_until = NULL, blocks = 0, reason = NULL WHERE queue = ?"

PAUSE_OF_ALL = "SELECT paused_at, paused_until FROM sqlqd_queues WHERE queue = '' AND paused_at IS NOT NULL"

PAUSES = """
SELECT CAST(queue AS BLOB), paused_at, paused_until FROM sqlqd_queues
WHERE paused_at IS NOT NULL AND (paused_until IS NULL OR paused_until > ?) ORDER BY queue
"""

END_PAUSE = """
UPDATE sqlqd_queues SET paused_at = NULL, paused_until = NULL
WHERE queue = CAST(? AS TEXT) AND paused_at IS NOT NULL
"""

OVER_PAUSES = "SELECT CAST(queue AS BLOB) FROM sqlqd_queues WHERE paused_until <= ?"

FORGET_QUEUE = """
DELETE FROM sqlqd_queues WHERE queue = CAST(? AS TEXT)
    AND paused_at IS NULL AND blocks = 0 AND failures = 0 AND rate_at IS NULL
"""

# Leases. Over: of another boot, or past on the awake clock; by the wall clock only where another program
# made the lease.

OVER_BEFORE_BOOT = """
SELECT rowid, 0 FROM jobs INDEXED BY jobs_leases
WHERE locked_by IS NOT NULL AND lost = 0 AND lease_boot < ? LIMIT ?
"""

OVER_AFTER_BOOT = """
SELECT rowid, 0 FROM jobs INDEXED BY jobs_leases
WHERE locked_by IS NOT NULL AND lost = 0 AND lease_boot > ? LIMIT ?
"""

OVER_AWAKE = """
SELECT rowid, 1 FROM jobs INDEXED BY jobs_leases
WHERE locked_by IS NOT NULL AND lost = 0 AND lease_boot = ? AND lease_end <= ? LIMIT ?
"""

OVER_FOREIGN = """
SELECT rowid, 1 FROM jobs INDEXED BY jobs_leases
WHERE locked_by IS NOT NULL AND lost = 0 AND lease_boot IS NULL AND lease_end IS NULL
    AND locked_until <= ? LIMIT ?
"""

# No program holds a job for a day by the wall clock alone and means it: then it would be held for ever.
OVER_FAR = """
SELECT rowid, 1 FROM jobs INDEXED BY jobs_leases
WHERE locked_by IS NOT NULL AND lost = 0 AND lease_boot IS NULL AND lease_end IS NULL
    AND locked_until > ? LIMIT ?
"""

# What the schema allows to nobody, and what could never end.
OVER_ODD = """
SELECT rowid, 1 FROM jobs INDEXED BY jobs_leases
WHERE locked_by IS NOT NULL AND lost = 0 AND lease_boot IS NULL AND lease_end IS NULL AND locked_until IS NULL
UNION ALL SELECT rowid, 1 FROM jobs INDEXED BY jobs_leases
WHERE locked_by IS NOT NULL AND lost = 0 AND lease_boot IS NULL AND lease_end IS NOT NULL
UNION ALL SELECT rowid, 1 FROM jobs INDEXED BY jobs_leases
WHERE locked_by IS NOT NULL AND lost = 0 AND lease_boot = ?1 AND lease_end IS NULL
UNION ALL SELECT rowid, 1 FROM jobs INDEXED BY jobs_leases
WHERE locked_by IS NOT NULL AND lost = 0 AND lease_boot = ?1 AND lease_end > 1e11
LIMIT ?2
"""

# A lease that is over, or makes no sense, and was never ours since this machine's boot: nothing runs for it.
# In: the row, our boot, the wall clock, and how far ahead a lease without a boot may end.
IS_NOBODYS = """
SELECT 1 FROM jobs WHERE rowid = ?1 AND locked_by IS NOT NULL AND lost = 0
    AND NOT coalesce(lease_boot = ?2 AND typeof(lease_end) = 'real' AND lease_end <= 1e11, 0)
    AND NOT coalesce(lease_boot IS NULL AND lease_end IS NULL
        AND locked_until > ?3 AND locked_until <= ?3 + ?4, 0)
"""

HOLDER_OF = "SELECT CAST(id AS BLOB), CAST(locked_by AS BLOB) FROM jobs WHERE rowid = ?"

# Rare, and as long as the list of held jobs: not worth an index that every claim would pay for.
HELD_BY_UID = """
SELECT rowid, 1 FROM jobs INDEXED BY jobs_held
WHERE locked_by IS NOT NULL AND lost = 0 AND locked_by >= ?1 || '/' AND locked_by < ?1 || '0'
"""

# What the log tells of a job whose lease is ended for its holder.
LOST_JOB = "SELECT CAST(id AS BLOB), CAST(queue AS BLOB), attempts FROM jobs WHERE rowid = ?"

LOG_LOST = """
INSERT INTO sqlqd_attempts (job_id, number, started_at, ended_at, outcome, error, worker)
SELECT id, attempts, coalesce(claimed_at, ?2), ?2, 'lost', ?3, locked_by FROM jobs WHERE rowid = ?1
"""

TRIM_LOST = """
DELETE FROM sqlqd_attempts WHERE entry = (
    SELECT entry FROM sqlqd_attempts INDEXED BY sqlqd_attempts_job
    WHERE job_id = (SELECT id FROM jobs WHERE rowid = ?) ORDER BY entry DESC LIMIT 1 OFFSET ?
)
"""

COUNT_LOST = """
INSERT INTO sqlqd_counters (queue, slot, outcome, n) SELECT queue, ?2, 'lost', 1 FROM jobs WHERE rowid = ?1
ON CONFLICT (queue, slot, outcome) DO UPDATE SET n = n + 1
"""

END_LEASE = """
UPDATE jobs SET locked_until = ?, lost = 1, crashes = min(crashes + ?, 1000000000),
    last_error = CASE WHEN octet_length(last_error) <= 65536 THEN last_error END
WHERE rowid = ?
"""

# What waits.

DUE_UP_TO = """
SELECT count(*) FROM (
    SELECT 1 FROM jobs INDEXED BY jobs_waiting
    WHERE locked_by IS NULL AND queue = ? AND priority = ? AND run_at <= ? LIMIT ?
)
"""

NEXT_RUN_AT = """
SELECT run_at FROM jobs INDEXED BY jobs_waiting
WHERE locked_by IS NULL AND queue = ? AND priority = ? AND run_at > ? AND run_at <= 1e11
ORDER BY run_at LIMIT 1
"""

LOST_UP_TO = """
SELECT count(*) FROM (
    SELECT 1 FROM jobs INDEXED BY jobs_lost WHERE locked_by IS NOT NULL AND lost = 1 AND queue = ? LIMIT ?
)
"""

# Processes, announced at their start and never again: a row that beats would wake everyone for ever.

PUT_WORKER = (
    "INSERT OR REPLACE INTO sqlqd_workers (uid, daemon_pid, slot, pid, started_at) VALUES (?, ?, ?, ?, ?)"
)

FORGET_WORKER = "DELETE FROM sqlqd_workers WHERE uid = ?"

PUT_DAEMON = """
INSERT OR REPLACE INTO sqlqd_daemons (pid, started_at, loaded_at, version, config, workers)
VALUES (?, ?, ?, ?, ?, ?)
"""

DAEMON_PIDS = "SELECT pid FROM sqlqd_daemons UNION ALL SELECT daemon_pid FROM sqlqd_workers"

FORGET_DAEMON = "DELETE FROM sqlqd_daemons WHERE pid = ?"

# In a container every daemon has the same pid.
FORGET_WORKERS_OF_EARLIER = "DELETE FROM sqlqd_workers WHERE daemon_pid = ? AND started_at < ?"

FORGET_WORKERS_OF = "DELETE FROM sqlqd_workers WHERE daemon_pid = ?"

# Schedules.

SCHEDULE = "SELECT next_at, last_at, last_job FROM sqlqd_schedules WHERE name = ? AND spec = ?"

SCHEDULE_DUE = """
INSERT INTO sqlqd_schedules (name, spec, next_at) VALUES (?1, ?2, ?3)
ON CONFLICT (name, spec) DO UPDATE SET next_at = ?3
"""

SCHEDULE_FIRED = """
INSERT INTO sqlqd_schedules (name, spec, next_at, last_at, last_job) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (name, spec) DO UPDATE SET next_at = ?3, last_at = ?4, last_job = coalesce(?5, last_job)
"""

# Housekeeping, in steps of a bounded number of rows.

EXPIRED_DONE = "SELECT number FROM done_jobs INDEXED BY done_jobs_keep_until WHERE keep_until <= ? LIMIT ?"

SURPLUS_DONE = "SELECT number FROM done_jobs WHERE number <= (SELECT max(number) FROM done_jobs) - ? LIMIT ?"

EXPIRED_DEAD = """
SELECT rowid FROM dead_jobs INDEXED BY dead_jobs_queue WHERE queue = ? AND died_at <= ? LIMIT ?
"""

FORGET_DEAD_ATTEMPTS = "DELETE FROM sqlqd_attempts WHERE job_id = (SELECT id FROM dead_jobs WHERE rowid = ?)"

DELETE_DEAD = "DELETE FROM dead_jobs WHERE rowid = ?"

FREE_PAGES = "PRAGMA freelist_count"

PAGES = "PRAGMA page_count"

VACUUM_MODE = "PRAGMA auto_vacuum"

GIVE_PAGES_BACK = "PRAGMA incremental_vacuum(16)"

DELETE_DONE = "DELETE FROM done_jobs WHERE number = ?"

OLD_COUNTERS = (
    "SELECT CAST(queue AS BLOB), slot, outcome, n FROM sqlqd_counters WHERE slot > 0 AND slot < ? LIMIT ?"
)

FOLD_COUNTER = """
INSERT INTO sqlqd_counters (queue, slot, outcome, n) VALUES (CAST(? AS TEXT), 0, ?, ?)
ON CONFLICT (queue, slot, outcome) DO UPDATE SET n = n + excluded.n
"""

DELETE_COUNTER = "DELETE FROM sqlqd_counters WHERE queue = CAST(? AS TEXT) AND slot = ? AND outcome = ?"

ATTEMPTS_FROM = """
SELECT entry, EXISTS (SELECT 1 FROM jobs WHERE id = job_id)
    OR EXISTS (SELECT 1 FROM dead_jobs WHERE id = job_id)
FROM sqlqd_attempts WHERE entry > ? ORDER BY entry LIMIT ?
"""

OVER_REQUESTS = """
SELECT job_id FROM sqlqd_requests AS r
WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE id = r.job_id AND locked_by = r.token) LIMIT ?
"""

OVER_PROGRESS = """
SELECT job_id FROM sqlqd_progress AS p
WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE id = p.job_id AND locked_by = p.token) LIMIT ?
"""

DELETE_PROGRESS = "DELETE FROM sqlqd_progress WHERE job_id = ?"

DELETE_REQUEST = "DELETE FROM sqlqd_requests WHERE job_id = ?"

DELETE_ORPHAN = """
DELETE FROM sqlqd_attempts WHERE entry = ?
    AND NOT EXISTS (SELECT 1 FROM jobs WHERE id = job_id)
    AND NOT EXISTS (SELECT 1 FROM dead_jobs WHERE id = job_id)
"""
