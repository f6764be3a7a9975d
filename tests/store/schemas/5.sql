-- The store of kept. Canonical: runs, passes, operations, candidates, sealed, blocks, threads, thread_events, files, settings, summaries.
-- Derived, rebuilt by `kept rebuild`: events, marks, mentions, memories, memory_index, turn_index, reply_index, passage_hashes, unembedded, candidates.live, forgotten.
-- Of this machine: outputs, dirty, uses, looks.
--
-- A `checksum` is the CRC-32 of the row's other columns (statement `wrong_checksums` says which): it names rot, as the hash chain
-- does in passes and operations, the commitments in sealed, and the hash in blocks; `tallies` names rows of such tables that are gone.
-- Everything else can be derived and compared.

-- Facts about this store: format number, its random keys.
CREATE TABLE settings (
    name     TEXT PRIMARY KEY,
    value    TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Which formats this store went through, each with the wall clock's time: the one it was made with, and those it was migrated to.
CREATE TABLE migrations (
    version INTEGER PRIMARY KEY,
    at      TEXT NOT NULL
);

-- One row a transcript file: how far it was read, and what became of its records.
CREATE TABLE files (
    id      INTEGER PRIMARY KEY,
    source  TEXT NOT NULL,
    path    TEXT NOT NULL,
    inode   INTEGER NOT NULL,
    offset  INTEGER NOT NULL,
    prefix  TEXT NOT NULL,
    line    INTEGER NOT NULL,
    carry   TEXT NOT NULL,
    account TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0,
    UNIQUE (source, path)
);

-- What a file looked like when it was read to its end, so that one that did not change is not opened. Of this machine.
CREATE TABLE looks (
    path   TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    stamp  TEXT NOT NULL
) WITHOUT ROWID;

-- Cleaned turns, compressed, immutable but for forget. `body` is made by kept.store.packing.pack. A block has the number of its first event;
-- the others follow it.
CREATE TABLE blocks (
    id   INTEGER PRIMARY KEY,
    body BLOB NOT NULL,
    hash TEXT NOT NULL
);

-- One row an event, whatever the number of its copies: what is asked of many at once. `at` is in milliseconds since 1970; `voice` says
-- its kind and author, a letter each (kept.store.columns): `ph` is a prompt of the person's. Derived.
CREATE TABLE events (
    id    INTEGER PRIMARY KEY,
    at    INTEGER,
    voice TEXT NOT NULL
);

-- What recognises events: 32 bits of a hash of the key, of the twin, and of the likeness in another tool's copy of its session, whose clock
-- has no fractions of a second. Events that share a mark are told apart by their blocks. Derived.
CREATE TABLE marks (
    mark  INTEGER NOT NULL,
    event INTEGER NOT NULL,
    PRIMARY KEY (mark, event)
) WITHOUT ROWID;

-- A thread: the events of one session as one file tells them. `extracted` is the ordinal from which episodes are still open.
-- `members` is the sum of the checksums of its rows in thread_events.
CREATE TABLE threads (
    id        INTEGER PRIMARY KEY,
    file      INTEGER NOT NULL REFERENCES files (id),
    session   TEXT NOT NULL,
    project   TEXT NOT NULL,
    events    INTEGER NOT NULL,
    extracted INTEGER NOT NULL,
    seen      INTEGER NOT NULL,
    first_at  TEXT,
    last_at   TEXT,
    members   INTEGER NOT NULL DEFAULT 0,
    checksum INTEGER NOT NULL DEFAULT 0,
    UNIQUE (file, session)
);

CREATE INDEX threads_begun ON threads (project, first_at);
CREATE INDEX threads_ended ON threads (project, last_at);

CREATE TABLE thread_events (
    thread    INTEGER NOT NULL REFERENCES threads (id),
    ordinal   INTEGER NOT NULL,
    event     INTEGER NOT NULL,
    abandoned INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (thread, ordinal)
) WITHOUT ROWID;
CREATE INDEX thread_events_event ON thread_events (event, thread);

-- How much of a thread a model has read: its chunks are closed before the ordinal `closed`, and it had `seen` events then. Progress only:
-- without a row (or with a rotten one) the thread is read again, mostly out of the cache.
CREATE TABLE hearings (
    thread INTEGER PRIMARY KEY REFERENCES threads (id),
    closed INTEGER NOT NULL,
    seen   INTEGER NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
);

-- What each working directory (or, for conversations that name none, the folder they lie in) was found to be when it was first seen:
-- the identity that all directories of one project share. `scope` is where the memories of the directory lie now.
CREATE TABLE projects (
    directory TEXT PRIMARY KEY,
    identity  TEXT NOT NULL,
    name      TEXT NOT NULL,
    scope     TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Conversations in which the user asked not to be remembered, and the file that told so.
CREATE TABLE opted_out (
    session TEXT PRIMARY KEY,
    path    TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Hashes of long passages in what people said, to tell what came in several sessions and so was not typed anew. Derived; compared by `check`.
CREATE TABLE passage_hashes (
    hash    INTEGER NOT NULL,
    event   INTEGER NOT NULL,
    session TEXT NOT NULL,
    at      TEXT,
    PRIMARY KEY (hash, event)
) WITHOUT ROWID;
CREATE INDEX passage_hashes_event ON passage_hashes (event);

CREATE TABLE runs (
    id         INTEGER PRIMARY KEY,
    command    TEXT NOT NULL,
    started_at TEXT NOT NULL,
    ended_at   TEXT,
    report     TEXT,
    checksum INTEGER NOT NULL DEFAULT 0
);

-- The log. `hash` chains each pass to the one before it over everything it holds except the sealed words.
CREATE TABLE passes (
    id          INTEGER PRIMARY KEY,
    run         INTEGER NOT NULL REFERENCES runs (id),
    stage       TEXT NOT NULL,
    subject     TEXT NOT NULL,
    actor       TEXT NOT NULL,
    recorded_at TEXT NOT NULL,
    undoes      TEXT NOT NULL,
    redoes      TEXT NOT NULL,
    note        TEXT NOT NULL,
    hash        TEXT NOT NULL
);
CREATE INDEX passes_run ON passes (run);

-- `body` holds everything but words; `commitment` is a salted hash of the sealed words.
CREATE TABLE operations (
    id         INTEGER PRIMARY KEY,
    pass       INTEGER NOT NULL REFERENCES passes (id),
    memory     TEXT NOT NULL,
    kind       TEXT NOT NULL,
    body       TEXT NOT NULL,
    commitment TEXT NOT NULL
);
CREATE INDEX operations_pass ON operations (pass);

-- Which operations concern which memories: their own, and those they merge, replace or answer with.
CREATE TABLE mentions (
    memory    TEXT NOT NULL,
    operation INTEGER NOT NULL REFERENCES operations (id),
    PRIMARY KEY (memory, operation)
) WITHOUT ROWID;
CREATE INDEX mentions_operation ON mentions (operation);

-- Which part of which thread an extraction pass covers: everything from the ordinal `start` on.
CREATE TABLE spans (
    pass   INTEGER NOT NULL REFERENCES passes (id),
    thread INTEGER NOT NULL REFERENCES threads (id),
    start  INTEGER NOT NULL,
    PRIMARY KEY (pass, thread)
) WITHOUT ROWID;
CREATE INDEX spans_thread ON spans (thread);

CREATE TABLE candidates (
    row        INTEGER PRIMARY KEY,
    pass       INTEGER NOT NULL REFERENCES passes (id),
    thread     INTEGER NOT NULL REFERENCES threads (id),
    ordinal    INTEGER NOT NULL,
    id         TEXT NOT NULL,
    profile    TEXT NOT NULL,
    scope      TEXT NOT NULL,
    verdict    TEXT NOT NULL,
    body       TEXT NOT NULL,
    commitment TEXT NOT NULL,
    live       INTEGER NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX candidates_thread ON candidates (thread, ordinal);
CREATE INDEX candidates_group ON candidates (profile, scope) WHERE live;
CREATE INDEX candidates_id ON candidates (id);

-- The words of operations and candidates: the only thing that forget erases from the log. `owner` is 'o<id>' or 'c<row>'.
CREATE TABLE sealed (
    owner TEXT PRIMARY KEY,
    salt  TEXT NOT NULL,
    words TEXT NOT NULL
) WITHOUT ROWID;

-- Groups whose live candidates changed since they were last curated.
CREATE TABLE dirty (
    profile TEXT NOT NULL,
    scope   TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (profile, scope)
) WITHOUT ROWID;

CREATE TABLE memories (
    rowid    INTEGER PRIMARY KEY,
    id       TEXT NOT NULL UNIQUE,
    profile  TEXT NOT NULL,
    category TEXT NOT NULL,
    scope    TEXT NOT NULL,
    status   TEXT NOT NULL,
    body     TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX memories_group ON memories (profile, scope, category);
CREATE INDEX memories_status ON memories (status);
-- What a hook asks before a prompt: pinned memories, and those that answer a failure.
CREATE INDEX memories_pinned ON memories (scope) WHERE instr(body, '"pinned":true') > 0;
CREATE INDEX memories_failure ON memories (scope) WHERE instr(body, '"fingerprint":') > 0;

CREATE VIRTUAL TABLE memory_index USING fts5 (words, content = '', tokenize = 'porter unicode61');
CREATE VIRTUAL TABLE turn_index USING fts5 (words, content = '', tokenize = 'porter unicode61');
-- What assistants said lies apart: it is long and much, and would decide how rare a word of the person is and how long a turn.
CREATE VIRTUAL TABLE reply_index USING fts5 (words, content = '', tokenize = 'porter unicode61');

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

-- What was last written to each file: the tagged lines and the hash of their bytes, the base of the three-way merge with the user's
-- edits. `intended` is a second such row while a write is under way: a crash between the two leaves no doubt which one the file is.
CREATE TABLE outputs (
    path     TEXT NOT NULL,
    intended INTEGER NOT NULL,
    hash     TEXT NOT NULL,
    lines    TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (path, intended)
) WITHOUT ROWID;

-- Keyed, content-free fingerprints of what must not come back.
CREATE TABLE forgotten (
    fingerprint TEXT PRIMARY KEY,
    pass        INTEGER NOT NULL REFERENCES passes (id)
) WITHOUT ROWID;

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

-- How many rows a table has and what their checksums add up to: names rows that are gone without a trace. Kept by each connection of
-- kept's own (tallies.sql), so that another program that deletes rows does not count.
CREATE TABLE tallies (
    name  TEXT PRIMARY KEY,
    count INTEGER NOT NULL,
    total INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO tallies (name, count, total) VALUES
    ('settings', 0, 0), ('files', 0, 0), ('projects', 0, 0), ('opted_out', 0, 0),
    ('runs', 0, 0), ('dirty', 0, 0), ('outputs', 0, 0), ('notes', 0, 0),
    ('summaries', 0, 0);
