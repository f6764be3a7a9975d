-- What language models replied, and what it cost. A file of its own beside the store: each reply commits when it arrives, whatever
-- becomes of the run that asked, so that nothing is paid for twice. Losing it loses money, not memories.

-- Replies by the key of their question (content, prompt version, model, schema), redacted; `about` are the sessions that were asked about.
CREATE TABLE IF NOT EXISTS replies (
    key     TEXT PRIMARY KEY,
    model   TEXT NOT NULL,
    purpose TEXT NOT NULL,
    version TEXT NOT NULL,
    at      TEXT NOT NULL,
    about   TEXT NOT NULL,
    body    TEXT NOT NULL
) WITHOUT ROWID;

-- Questions whose replies could not be read, and how often, by which program; no words of them. `about` are the sessions that were asked about.
CREATE TABLE IF NOT EXISTS unreadable (
    key     TEXT PRIMARY KEY,
    tries   INTEGER NOT NULL,
    fault   TEXT NOT NULL,
    about   TEXT NOT NULL,
    program TEXT NOT NULL
) WITHOUT ROWID;

-- What was spent, one row a question that was sent. `cost` is in USD, NULL where unknown; `at` in UTC.
CREATE TABLE IF NOT EXISTS spent (
    id            INTEGER PRIMARY KEY,
    at            TEXT NOT NULL,
    purpose       TEXT NOT NULL,
    model         TEXT NOT NULL,
    calls         INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    cost          REAL
);
CREATE INDEX IF NOT EXISTS spent_at ON spent (at);

-- Batches handed in and not collected yet; `items` says which name stands for which question (key, purpose, version,
-- schema, about, and what it may cost at most).
CREATE TABLE IF NOT EXISTS batches (
    id    TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    at    TEXT NOT NULL,
    items TEXT NOT NULL
) WITHOUT ROWID;
