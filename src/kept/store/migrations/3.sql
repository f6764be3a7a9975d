-- How much of a thread a model has read: its chunks are closed before the ordinal `closed`, and it had `seen` events then. Progress only:
-- without a row (or with a rotten one) the thread is read again, mostly out of the cache.
CREATE TABLE hearings (
    thread INTEGER PRIMARY KEY REFERENCES threads (id),
    closed INTEGER NOT NULL,
    seen   INTEGER NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
);

-- Rows that no hash covered get a checksum, so that rot in them is named.
ALTER TABLE settings ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE files ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN members INTEGER NOT NULL DEFAULT 0;
ALTER TABLE threads ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE opted_out ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE likenesses ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE candidates ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE dirty ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outputs ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;

UPDATE threads SET members = (
    SELECT coalesce(sum(checksum(te.ordinal, te.event, te.abandoned)), 0) FROM thread_events AS te WHERE te.thread = threads.id
);
UPDATE settings SET checksum = checksum(name, value);
UPDATE files SET checksum = checksum(id, source, path, inode, offset, prefix, line, carry, account);
UPDATE threads SET checksum = checksum(id, file, session, project, events, extracted, seen, first_at, last_at, members);
UPDATE projects SET checksum = checksum(directory, identity, name, scope);
UPDATE opted_out SET checksum = checksum(session, path);
UPDATE likenesses SET checksum = checksum(mark, event, path);
UPDATE runs SET checksum = checksum(id, command, started_at, ended_at, report);
UPDATE candidates SET checksum = checksum(row, pass, thread, ordinal, id, profile, scope, verdict);
UPDATE dirty SET checksum = checksum(profile, scope);
UPDATE memories SET checksum = checksum(id, body);
UPDATE outputs SET checksum = checksum(path, intended, hash, lines);

-- What was worked on, session by session: derived from the archive. `body` is zlib over JSON: the line it is
-- told in, and the note. `events` of `noted` says how far a thread was looked at.
CREATE TABLE notes (
    id      INTEGER PRIMARY KEY,
    thread  INTEGER NOT NULL REFERENCES threads (id),
    ordinal INTEGER NOT NULL,
    event   TEXT NOT NULL,
    at      TEXT NOT NULL,
    body    BLOB NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0,
    UNIQUE (thread, ordinal)
);
CREATE INDEX notes_at ON notes (at);
CREATE VIRTUAL TABLE note_index USING fts5 (words, content = '', tokenize = 'porter unicode61');
CREATE TABLE noted (
    thread INTEGER PRIMARY KEY REFERENCES threads (id),
    events INTEGER NOT NULL
);

-- What changed since its vector was made: memories and what the user said, by row. Derived; vectors themselves lie beside the store.
CREATE TABLE unembedded (
    kind TEXT NOT NULL,
    item INTEGER NOT NULL,
    PRIMARY KEY (kind, item)
) WITHOUT ROWID;

-- How often a memory answered a question. Of this machine; outlives a rebuild.
CREATE TABLE uses (
    memory TEXT PRIMARY KEY,
    times  INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO unembedded (kind, item) SELECT 'memory', rowid FROM memories;
INSERT INTO unembedded (kind, item) SELECT 'turn', id FROM events WHERE kind = 'prompt' AND author = 'human';

-- What a hook asks before a prompt: pinned memories, and those that answer a failure.
CREATE INDEX memories_pinned ON memories (scope) WHERE instr(body, '"pinned":true') > 0;
CREATE INDEX memories_failure ON memories (scope) WHERE instr(body, '"fingerprint":') > 0;
DROP INDEX memories_group;
CREATE INDEX memories_group ON memories (profile, scope, category);

-- What a file looked like when it was read to its end, so that one that did not change is not opened. Of this machine.
CREATE TABLE looks (
    path   TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    stamp  TEXT NOT NULL
) WITHOUT ROWID;

-- What days came to, sentence by sentence. Canonical: a model read the conversation for it, or a person wrote it. `form` is `point` (of a
-- thread, as noted while it was read), `line` (of a day and scope, put together of points) or `own` (a person's words in the place of one).
CREATE TABLE summaries (
    row     INTEGER PRIMARY KEY,
    id      TEXT NOT NULL UNIQUE,
    form    TEXT NOT NULL,
    day     TEXT NOT NULL,
    scope   TEXT NOT NULL,
    thread  INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    at      TEXT NOT NULL,
    body    TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX summaries_day ON summaries (day, scope) WHERE day <> '';
CREATE INDEX summaries_thread ON summaries (thread, ordinal) WHERE form = 'point';
CREATE INDEX summaries_at ON summaries (at);

-- What assistants said is found by an index of its own. An index cannot tell whose words it has, so both are made anew when the store is opened.
CREATE VIRTUAL TABLE reply_index USING fts5 (words, content = '', tokenize = 'porter unicode61');
INSERT INTO settings (name, value, checksum) VALUES ('reindexing', '', checksum('reindexing', ''));

-- How many rows a table has and what their checksums add up to: names rows that are gone without a trace. Kept by each connection of
-- kept's own (tallies.sql), so that another program that deletes rows does not count.
CREATE TABLE tallies (
    name  TEXT PRIMARY KEY,
    count INTEGER NOT NULL,
    total INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO tallies (name, count, total)
SELECT 'settings', count(*), coalesce(sum(checksum), 0) FROM settings
UNION ALL SELECT 'files', count(*), coalesce(sum(checksum), 0) FROM files
UNION ALL SELECT 'projects', count(*), coalesce(sum(checksum), 0) FROM projects
UNION ALL SELECT 'opted_out', count(*), coalesce(sum(checksum), 0) FROM opted_out
UNION ALL SELECT 'likenesses', count(*), coalesce(sum(checksum), 0) FROM likenesses
UNION ALL SELECT 'runs', count(*), coalesce(sum(checksum), 0) FROM runs
UNION ALL SELECT 'dirty', count(*), coalesce(sum(checksum), 0) FROM dirty
UNION ALL SELECT 'outputs', count(*), coalesce(sum(checksum), 0) FROM outputs
UNION ALL SELECT 'notes', 0, 0
UNION ALL SELECT 'summaries', 0, 0;

-- Which sessions of a project come before and after another.
CREATE INDEX threads_begun ON threads (project, first_at);
CREATE INDEX threads_ended ON threads (project, last_at);
