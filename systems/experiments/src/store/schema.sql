-- States of the experiment, the last one being that of the runs below.
CREATE TABLE series (
    number INTEGER PRIMARY KEY,
    hash TEXT NOT NULL,
    opened TEXT NOT NULL,          -- UTC, RFC 3339
    note TEXT NOT NULL,
    program_version TEXT NOT NULL
);
-- A row for each run asked for; equal runs share a key and what was measured.
CREATE TABLE runs (
    key TEXT NOT NULL,
    series INTEGER NOT NULL REFERENCES series (number),
    workload TEXT NOT NULL,
    variant TEXT NOT NULL,
    control INTEGER NOT NULL,      -- 0 or 1
    levels TEXT NOT NULL,          -- JSON: axis -> level
    pair INTEGER NOT NULL,
    confirming INTEGER NOT NULL,   -- 1: of the next size
    status TEXT NOT NULL,          -- done or failed
    error TEXT,                    -- why it failed
    cycles INTEGER,                -- of the core clock
    trace_key TEXT NOT NULL
);
CREATE INDEX runs_by_key ON runs (key);
-- Overrides of a run.
CREATE TABLE parameters (
    run TEXT NOT NULL,             -- key
    path TEXT NOT NULL,
    value TEXT NOT NULL
);
-- Metrics of a run; no value: undefined.
CREATE TABLE metrics (
    run TEXT NOT NULL,             -- key
    metric TEXT NOT NULL,
    value REAL,
    unit TEXT NOT NULL
);
CREATE TABLE claims (
    series INTEGER NOT NULL REFERENCES series (number),
    name TEXT NOT NULL,
    kind TEXT NOT NULL,            -- finding or identity
    verdict TEXT NOT NULL,
    median REAL,
    low REAL,                      -- 95 % interval
    high REAL,
    margin REAL,
    resolution REAL,
    control_verdict TEXT,
    expected TEXT
);
CREATE TABLE provenance (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
-- What the view `statistics` is made of: names and keys once each.
CREATE TABLE names (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL
);
CREATE TABLE measured (
    run INTEGER NOT NULL,
    kernel INTEGER NOT NULL,       -- launch and name; empty: the whole run
    path INTEGER NOT NULL,
    statistic INTEGER NOT NULL,
    value NUMERIC,
    unit INTEGER NOT NULL,
    part INTEGER,
    whole INTEGER
);
CREATE INDEX measured_by_statistic ON measured (statistic, path);
CREATE VIEW statistics AS
    SELECT r.name AS run, k.name AS kernel, p.name AS path, s.name AS statistic, value,
        u.name AS unit, part, whole
    FROM measured
    JOIN names r ON r.id = measured.run
    JOIN names k ON k.id = measured.kernel
    JOIN names p ON p.id = measured.path
    JOIN names s ON s.id = measured.statistic
    JOIN names u ON u.id = measured.unit;
