-- What people asked of running jobs: for the holder of that very claim to hear, and for whoever ends it.
CREATE TABLE sqlqd_requests (
    job_id TEXT NOT NULL PRIMARY KEY,
    token TEXT NOT NULL,
    what TEXT NOT NULL
        CONSTRAINT "what must be kill, bury or cancel" CHECK (what IN ('kill', 'bury', 'cancel')),
    asked_at REAL NOT NULL
) WITHOUT ROWID;

UPDATE sqlqd_schema SET version = 2;
