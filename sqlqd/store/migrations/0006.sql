-- The one job of a key that waits until the one before it is gone: `enqueue --on-conflict next`. It is due at the end
-- of time, and at once when that row is deleted, by whomever.
CREATE INDEX jobs_followers ON jobs (queue, key) WHERE key IS NOT NULL AND shared = 1 AND locked_by IS NULL;

CREATE TRIGGER jobs_promote AFTER DELETE ON jobs WHEN OLD.key IS NOT NULL AND OLD.shared = 0
BEGIN
    UPDATE jobs SET shared = 0, run_at = (julianday('now') - 2440587.5) * 86400.0
    WHERE queue = OLD.queue AND key = OLD.key AND shared = 1 AND locked_by IS NULL AND run_at >= 1e11;
END;

UPDATE sqlqd_schema SET version = 6;
