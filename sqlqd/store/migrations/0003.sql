-- What a queue promises over time: jobs that come too late, those of a key that take turns, rates and breakers.
ALTER TABLE jobs ADD COLUMN expires_at REAL
    CONSTRAINT "expires_at must be Unix seconds, a number from 0 to 1e11, or NULL"
    CHECK (expires_at IS NULL OR (typeof(expires_at) = 'real' AND expires_at BETWEEN 0 AND 1e11));

-- 1: others may have the same key, and wait until it does not run.
ALTER TABLE jobs ADD COLUMN shared INTEGER NOT NULL DEFAULT 0
    CONSTRAINT "shared must be 0 or 1" CHECK (shared IN (0, 1));
ALTER TABLE dead_jobs ADD COLUMN shared INTEGER NOT NULL DEFAULT 0;

DROP INDEX jobs_key;
CREATE UNIQUE INDEX jobs_key ON jobs (queue, key) WHERE key IS NOT NULL AND shared = 0;
CREATE INDEX jobs_key_held ON jobs (queue, key) WHERE key IS NOT NULL AND locked_by IS NOT NULL;

-- When a queue with a rate may start its next job, and how its last jobs ended.
ALTER TABLE sqlqd_queues ADD COLUMN rate_at REAL;
ALTER TABLE sqlqd_queues ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sqlqd_queues ADD COLUMN broken_at REAL;
ALTER TABLE sqlqd_queues ADD COLUMN broken_until REAL;

UPDATE sqlqd_schema SET version = 3;
