-- The store of kept. Canonical: runs, passes, operations, candidates, sealed, blocks, events, threads, thread_events, files, settings.
-- Derived, rebuilt by `kept rebuild`: mentions, memories, memory_index, turn_index, candidates.live. Of this machine: outputs, dirty.

-- Facts about this store: format number, its random keys.
CREATE TABLE settings (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
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
    UNIQUE (source, path)
);

-- Cleaned turns, compressed, immutable but for forget. `body` is zlib over a JSON list of event rows.
CREATE TABLE blocks (
    id   INTEGER PRIMARY KEY,
    body BLOB NOT NULL,
    hash TEXT NOT NULL
);

-- One row an event, whatever the number of its copies. `record`, `parent` and `turn` are 64-bit hashes of native ids.
CREATE TABLE events (
    id      INTEGER PRIMARY KEY,
    key     TEXT NOT NULL UNIQUE,
    twin    TEXT,
    block   INTEGER NOT NULL REFERENCES blocks (id),
    place   INTEGER NOT NULL,
    at      TEXT,
    kind    TEXT NOT NULL,
    author  TEXT NOT NULL,
    record  INTEGER NOT NULL,
    parent  INTEGER NOT NULL,
    turn    INTEGER NOT NULL
);
CREATE UNIQUE INDEX events_twin ON events (twin) WHERE twin IS NOT NULL;
CREATE INDEX events_at ON events (at);

-- A thread: the events of one session as one file tells them. `extracted` is the ordinal from which episodes are still open.
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
    UNIQUE (file, session)
);

CREATE TABLE thread_events (
    thread    INTEGER NOT NULL REFERENCES threads (id),
    ordinal   INTEGER NOT NULL,
    event     INTEGER NOT NULL REFERENCES events (id),
    abandoned INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (thread, ordinal)
) WITHOUT ROWID;
CREATE INDEX thread_events_event ON thread_events (event, thread);

-- What each working directory (or, for conversations that name none, the folder they lie in) was found to be when it was first seen:
-- the identity that all directories of one project share. `scope` is where the memories of the directory lie now.
CREATE TABLE projects (
    directory TEXT PRIMARY KEY,
    identity  TEXT NOT NULL,
    name      TEXT NOT NULL,
    scope     TEXT NOT NULL
) WITHOUT ROWID;

-- Conversations in which the user asked not to be remembered, and the file that told so.
CREATE TABLE opted_out (
    session TEXT PRIMARY KEY,
    path    TEXT NOT NULL
) WITHOUT ROWID;

-- Marks that recognise an event in another tool's copy of its session, whose clock has no fractions of a second. Derived.
CREATE TABLE likenesses (
    mark  TEXT PRIMARY KEY,
    event INTEGER NOT NULL REFERENCES events (id),
    path  TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX likenesses_event ON likenesses (event);

CREATE TABLE runs (
    id         INTEGER PRIMARY KEY,
    command    TEXT NOT NULL,
    started_at TEXT NOT NULL,
    ended_at   TEXT,
    report     TEXT
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
    live       INTEGER NOT NULL
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
    PRIMARY KEY (profile, scope)
) WITHOUT ROWID;

CREATE TABLE memories (
    rowid    INTEGER PRIMARY KEY,
    id       TEXT NOT NULL UNIQUE,
    profile  TEXT NOT NULL,
    category TEXT NOT NULL,
    scope    TEXT NOT NULL,
    status   TEXT NOT NULL,
    body     TEXT NOT NULL
);
CREATE INDEX memories_group ON memories (profile, scope);
CREATE INDEX memories_status ON memories (status);

CREATE VIRTUAL TABLE memory_index USING fts5 (words, content = '', tokenize = 'porter unicode61');
CREATE VIRTUAL TABLE turn_index USING fts5 (words, content = '', tokenize = 'porter unicode61');

-- What was last written to each file: the tagged lines and the hash of their bytes, the base of the three-way merge with the user's
-- edits. `intended` is a second such row while a write is under way: a crash between the two leaves no doubt which one the file is.
CREATE TABLE outputs (
    path     TEXT NOT NULL,
    intended INTEGER NOT NULL,
    hash     TEXT NOT NULL,
    lines    TEXT NOT NULL,
    PRIMARY KEY (path, intended)
) WITHOUT ROWID;

-- Keyed, content-free fingerprints of what must not come back.
CREATE TABLE forgotten (
    fingerprint TEXT PRIMARY KEY,
    pass        INTEGER NOT NULL REFERENCES passes (id)
) WITHOUT ROWID;
