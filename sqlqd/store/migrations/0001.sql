-- Live jobs. Producers may INSERT with no more than (queue, payload); a row's state follows from the
-- lock and from run_at and is stored nowhere. The bulky columns stand last: what lies behind them is slow to read.
CREATE TABLE jobs (
    id TEXT NOT NULL PRIMARY KEY DEFAULT (lower(hex(randomblob(16))))
        CONSTRAINT "id must be text of 1 to 200 characters without NUL"
        CHECK (typeof(id) = 'text' AND length(id) BETWEEN 1 AND 200 AND instr(id, char(0)) = 0),
    queue TEXT NOT NULL
        CONSTRAINT "queue must be text of 1 to 200 characters without NUL"
        CHECK (typeof(queue) = 'text' AND length(queue) BETWEEN 1 AND 200 AND instr(queue, char(0)) = 0),
    key TEXT
        CONSTRAINT "key must be text of 1 to 500 characters without NUL, or NULL"
        CHECK (key IS NULL OR (typeof(key) = 'text' AND length(key) BETWEEN 1 AND 500 AND instr(key, char(0)) = 0)),
    priority INTEGER NOT NULL DEFAULT 0
        CONSTRAINT "priority must be a whole number from -100 to 100"
        CHECK (typeof(priority) = 'integer' AND priority BETWEEN -100 AND 100),
    run_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0)
        CONSTRAINT "run_at must be Unix seconds, a number from 0 to 1e11"
        CHECK (typeof(run_at) = 'real' AND run_at BETWEEN 0 AND 1e11),
    created_at REAL NOT NULL DEFAULT ((julianday('now') - 2440587.5) * 86400.0)
        CONSTRAINT "created_at must be Unix seconds, a number from 0 to 1e11"
        CHECK (typeof(created_at) = 'real' AND created_at BETWEEN 0 AND 1e11),
    attempts INTEGER NOT NULL DEFAULT 0
        CONSTRAINT "attempts must be a whole number from 0 to 1000000000"
        CHECK (typeof(attempts) = 'integer' AND attempts BETWEEN 0 AND 1000000000),
    max_attempts INTEGER
        CONSTRAINT "max_attempts must be a whole number from 1 to 1000000000, or NULL"
        CHECK (max_attempts IS NULL OR (typeof(max_attempts) = 'integer' AND max_attempts BETWEEN 1 AND 1000000000)),
    -- Attempts that took their worker down or lost their lease.
    crashes INTEGER NOT NULL DEFAULT 0
        CONSTRAINT "crashes must be a whole number from 0 to 1000000000"
        CHECK (typeof(crashes) = 'integer' AND crashes BETWEEN 0 AND 1000000000),
    locked_by TEXT
        CONSTRAINT "locked_by must be text of 1 to 500 characters without NUL, or NULL"
        CHECK (locked_by IS NULL
            OR (typeof(locked_by) = 'text' AND length(locked_by) BETWEEN 1 AND 500 AND instr(locked_by, char(0)) = 0)),
    locked_until REAL
        CONSTRAINT "locked_until must be Unix seconds, a number from 0 to 1e11, or NULL"
        CHECK (locked_until IS NULL OR (typeof(locked_until) = 'real' AND locked_until BETWEEN 0 AND 1e11)),
    claimed_at REAL
        CONSTRAINT "claimed_at must be Unix seconds, a number from 0 to 1e11, or NULL"
        CHECK (claimed_at IS NULL OR (typeof(claimed_at) = 'real' AND claimed_at BETWEEN 0 AND 1e11)),
    -- The lease's end on the machine's awake clock, and the boot that counts from: no step of the wall clock moves it.
    lease_boot TEXT,
    lease_end REAL,
    -- 1: the lease was ended for its holder, who may still settle until somebody else claims the job.
    lost INTEGER NOT NULL DEFAULT 0
        CONSTRAINT "lost must be 0 or 1" CHECK (lost IN (0, 1)),
    cancel_at REAL
        CONSTRAINT "cancel_at must be Unix seconds, a number from 0 to 1e11, or NULL"
        CHECK (cancel_at IS NULL OR (typeof(cancel_at) = 'real' AND cancel_at BETWEEN 0 AND 1e11)),
    payload TEXT NOT NULL DEFAULT ''
        CONSTRAINT "payload must be text without NUL"
        CHECK (typeof(payload) = 'text' AND instr(payload, char(0)) = 0),
    last_error TEXT
        CONSTRAINT "last_error must be text, or NULL"
        CHECK (last_error IS NULL OR typeof(last_error) = 'text'),
    CONSTRAINT "locked_by and locked_until must be set together"
        CHECK ((locked_by IS NULL) = (locked_until IS NULL)),
    CONSTRAINT "lease_boot and lease_end must be text and a number, or both NULL"
        CHECK ((lease_boot IS NULL AND lease_end IS NULL)
            OR (typeof(lease_boot) = 'text' AND typeof(lease_end) = 'real' AND lease_end < 1e11))
);

CREATE UNIQUE INDEX jobs_key ON jobs (queue, key) WHERE key IS NOT NULL;
CREATE INDEX jobs_waiting ON jobs (queue, priority DESC, run_at) WHERE locked_by IS NULL;
CREATE INDEX jobs_held ON jobs (queue) WHERE locked_by IS NOT NULL;
CREATE INDEX jobs_lost ON jobs (queue) WHERE locked_by IS NOT NULL AND lost = 1;
CREATE INDEX jobs_leases ON jobs (lease_boot, lease_end, locked_until) WHERE locked_by IS NOT NULL AND lost = 0;

-- Dead letters. No checks: whatever jobs held must fit in here.
CREATE TABLE dead_jobs (
    id TEXT NOT NULL PRIMARY KEY,
    queue TEXT NOT NULL,
    key TEXT,
    priority INTEGER NOT NULL,
    run_at REAL NOT NULL,
    created_at REAL NOT NULL,
    attempts INTEGER NOT NULL,
    max_attempts INTEGER,
    crashes INTEGER NOT NULL,
    locked_by TEXT,
    locked_until REAL,
    claimed_at REAL,
    died_at REAL NOT NULL,
    reason TEXT NOT NULL,
    payload TEXT NOT NULL,
    last_error TEXT
);

CREATE INDEX dead_jobs_queue ON dead_jobs (queue, died_at);

-- Records of ended jobs, kept until keep_until and never more than the newest 100,000.
CREATE TABLE done_jobs (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    queue TEXT NOT NULL,
    key TEXT,
    attempts INTEGER NOT NULL,
    ended_at REAL NOT NULL,
    outcome TEXT NOT NULL,
    duration REAL,
    exit_code INTEGER,
    keep_until REAL NOT NULL
);

CREATE INDEX done_jobs_keep_until ON done_jobs (keep_until);

-- Attempts that did not succeed, of jobs that are live or dead.
CREATE TABLE sqlqd_attempts (
    entry INTEGER PRIMARY KEY,
    job_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    started_at REAL NOT NULL,
    ended_at REAL NOT NULL,
    outcome TEXT NOT NULL,
    exit_code INTEGER,
    signal INTEGER,
    cpu REAL,
    error TEXT NOT NULL,
    worker TEXT NOT NULL
);

CREATE INDEX sqlqd_attempts_job ON sqlqd_attempts (job_id);

-- How many attempts ended how, by slot of five minutes; slot 0 holds all the earlier ones.
CREATE TABLE sqlqd_counters (
    queue TEXT NOT NULL,
    slot INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (queue, slot, outcome)
) WITHOUT ROWID;

-- Queues that are paused, or held because their command cannot be started. Others have no row.
CREATE TABLE sqlqd_queues (
    queue TEXT NOT NULL PRIMARY KEY,
    paused_at REAL
        CONSTRAINT "paused_at must be Unix seconds, a number from 0 to 1e11, or NULL"
        CHECK (paused_at IS NULL OR (typeof(paused_at) = 'real' AND paused_at BETWEEN 0 AND 1e11)),
    paused_until REAL
        CONSTRAINT "paused_until must be Unix seconds, a number from 0 to 1e11, or NULL"
        CHECK (paused_until IS NULL OR (typeof(paused_until) = 'real' AND paused_until BETWEEN 0 AND 1e11)),
    blocked_until REAL
        CONSTRAINT "blocked_until must be Unix seconds, a number from 0 to 1e11, or NULL"
        CHECK (blocked_until IS NULL OR (typeof(blocked_until) = 'real' AND blocked_until BETWEEN 0 AND 1e11)),
    blocks INTEGER NOT NULL DEFAULT 0
        CONSTRAINT "blocks must be a whole number, not below 0" CHECK (typeof(blocks) = 'integer' AND blocks >= 0),
    reason TEXT
) WITHOUT ROWID;

CREATE TABLE sqlqd_daemons (
    pid INTEGER PRIMARY KEY,
    started_at REAL NOT NULL,
    loaded_at REAL NOT NULL,
    version TEXT NOT NULL,
    config TEXT NOT NULL,
    workers INTEGER NOT NULL
);

CREATE TABLE sqlqd_workers (
    uid TEXT NOT NULL PRIMARY KEY,
    daemon_pid INTEGER NOT NULL,
    slot INTEGER NOT NULL,
    pid INTEGER NOT NULL,
    started_at REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE sqlqd_schema (version INTEGER NOT NULL);
INSERT INTO sqlqd_schema (version) VALUES (1);
