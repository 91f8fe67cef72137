-- How far running jobs are, by their commands' own word.
CREATE TABLE sqlqd_progress (
    job_id TEXT NOT NULL PRIMARY KEY,
    token TEXT NOT NULL,
    percent REAL NOT NULL,
    text TEXT NOT NULL,
    said_at REAL NOT NULL
) WITHOUT ROWID;

UPDATE sqlqd_schema SET version = 5;
