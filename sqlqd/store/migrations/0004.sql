-- When each schedule is due next. Another spec is another schedule, which knows nothing of the past.
CREATE TABLE sqlqd_schedules (
    name TEXT NOT NULL,
    spec TEXT NOT NULL,
    next_at REAL,
    last_at REAL,
    last_job TEXT,
    PRIMARY KEY (name, spec)
) WITHOUT ROWID;

UPDATE sqlqd_schema SET version = 4;
