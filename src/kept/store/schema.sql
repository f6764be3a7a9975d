-- The schema of the store.
--
-- Canonical: runs, passes, spans, operations, candidates, sealed, blocks, threads, thread_events, files, projects, opted_out,
-- settings, summaries; also dirty and hearings, which record progress.
-- Derived, rebuilt by `kept rebuild`: events, marks, mentions, memories, memory_index, turn_index, reply_index, passage_hashes,
-- candidates.live, forgotten; notes, noted and note_index, which the next run makes again; unembedded, the queue of vectors.
-- Local to this machine: outputs, uses, looks; texts, text_index, tellings, rests, settled, unsettled, which curation fills again.
--
-- A `checksum` is the CRC-32 of the row's other columns (statement `wrong_checksums` lists them). It detects corruption, as do the
-- hash chain over passes and operations, the commitments of sealed words and the hash of a block; `tallies` detects missing rows of
-- tables with checksums. Everything else can be derived and compared.

-- Values of this store: its random keys, notes, markers.
CREATE TABLE settings (
    name     TEXT PRIMARY KEY,
    value    TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- The formats of this store, with the time: the one it was created with, and those it was migrated to.
CREATE TABLE migrations (
    version INTEGER PRIMARY KEY,
    at      TEXT NOT NULL
);

-- One row per transcript file: how far it was read, and the account of its records. `carry`, the state of the reader, is compressed.
CREATE TABLE files (
    id      INTEGER PRIMARY KEY,
    source  TEXT NOT NULL,
    path    TEXT NOT NULL,
    inode   INTEGER NOT NULL,
    offset  INTEGER NOT NULL,
    prefix  TEXT NOT NULL,
    line    INTEGER NOT NULL,
    carry   BLOB NOT NULL,
    account TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0,
    UNIQUE (source, path)
);

-- The stat cache: a file's stamp when it was read to its end, so that unchanged files are not opened. Local to this machine.
CREATE TABLE looks (
    path   TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    stamp  TEXT NOT NULL
) WITHOUT ROWID;

-- The archive: cleaned events in compressed blocks, immutable except for erasure. `body` is made by kept.store.packing.pack. The id
-- of a block is the number of its first event; its other events have the next numbers.
CREATE TABLE blocks (
    id   INTEGER PRIMARY KEY,
    body BLOB NOT NULL,
    hash TEXT NOT NULL
);

-- One row per event, however many copies there are: the fields that queries over many events need. `at` is in milliseconds since
-- 1970; `voice` is a letter each for kind and author (kept.store.columns): `ph` is a prompt of the person. Derived.
CREATE TABLE events (
    id    INTEGER PRIMARY KEY,
    at    INTEGER,
    voice TEXT NOT NULL
);

-- Marks find events: 32-bit hashes of the key, of the twin, and of the likeness, which matches another tool's copy of the session
-- (its clock has no fractions of a second). Events with the same mark are distinguished by reading their blocks. Derived.
CREATE TABLE marks (
    mark  INTEGER NOT NULL,
    event INTEGER NOT NULL,
    PRIMARY KEY (mark, event)
) WITHOUT ROWID;

-- A thread: the events of one session in one file. `extracted` is the ordinal from which episodes are still open, `seen` the number
-- of events processed. `members` is the sum of the checksums of its rows in thread_events.
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

-- A row is a run of `events` events with consecutive numbers, from the one with number `event` at `ordinal` on. A run never contains
-- a multiple of 512 after its first event, so that the run with an event is found among the few that begin at most 511 before it.
CREATE TABLE thread_events (
    thread    INTEGER NOT NULL REFERENCES threads (id),
    ordinal   INTEGER NOT NULL,
    event     INTEGER NOT NULL,
    abandoned INTEGER NOT NULL,
    events    INTEGER NOT NULL,
    PRIMARY KEY (thread, ordinal)
) WITHOUT ROWID;
CREATE INDEX thread_events_event ON thread_events (event, events, thread);

-- How much of a thread a model has read: chunks before ordinal `closed` are closed, and the thread had `seen` events then. Without
-- a row, or with a damaged one, the thread is read again, mostly from cached replies.
CREATE TABLE hearings (
    thread INTEGER PRIMARY KEY REFERENCES threads (id),
    closed INTEGER NOT NULL,
    seen   INTEGER NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
);

-- The project of each working directory (or, for conversations without one, of the folder with their file), as detected when it was
-- first seen: all directories of a project share its `identity`. `scope` is the present scope of the directory's memories.
CREATE TABLE projects (
    directory TEXT PRIMARY KEY,
    identity  TEXT NOT NULL,
    name      TEXT NOT NULL,
    scope     TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Conversations in which the user asked not to be remembered, and the file that says so.
CREATE TABLE opted_out (
    session TEXT PRIMARY KEY,
    path    TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- Hashes of long passages in prompts: a passage that occurs in several sessions was pasted, not typed. `session` is a 32-bit hash.
-- Derived; verified by `kept check`.
CREATE TABLE passage_hashes (
    hash    INTEGER NOT NULL,
    event   INTEGER NOT NULL,
    session INTEGER NOT NULL,
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

-- The log. `hash` chains each pass to the previous one, over everything in it except the sealed words.
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

-- The memories that each operation affects: its own, and those it merges, supersedes or resolves.
CREATE TABLE mentions (
    memory    TEXT NOT NULL,
    operation INTEGER NOT NULL REFERENCES operations (id),
    PRIMARY KEY (memory, operation)
) WITHOUT ROWID;
CREATE INDEX mentions_operation ON mentions (operation);

-- The part of a thread that an extraction pass covers: everything from ordinal `start` on.
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

-- The words of operations and candidates, which erasure removes from the log. `owner` is 'o<id>' or 'c<row>'.
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

-- The text index of large groups, by which a new candidate finds related texts, so that only these are curated. `place` orders
-- texts by when they were first said; `tokens` are hashed search tokens. Filled by curation, local to this machine.
CREATE TABLE texts (
    place   INTEGER PRIMARY KEY,
    profile TEXT NOT NULL,
    scope   TEXT NOT NULL,
    form    TEXT NOT NULL,
    body    TEXT NOT NULL,
    tokens  TEXT NOT NULL
);
CREATE INDEX texts_form ON texts (profile, scope, form);
CREATE VIRTUAL TABLE text_index USING fts5 (tokens, content = '', detail = none);

-- The candidates (by id) and memories (by 'm' and id) of each text, and the candidates that each memory rests on.
CREATE TABLE tellings (
    item  TEXT PRIMARY KEY,
    place INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX tellings_place ON tellings (place);
CREATE TABLE rests (
    candidate TEXT NOT NULL,
    memory    TEXT NOT NULL,
    PRIMARY KEY (candidate, memory)
) WITHOUT ROWID;
CREATE INDEX rests_memory ON rests (memory);

-- The groups whose texts are all in the index, with the version of the rules that curated them; and their candidates and memories
-- that changed since.
CREATE TABLE settled (
    profile TEXT NOT NULL,
    scope   TEXT NOT NULL,
    rules   TEXT NOT NULL,
    PRIMARY KEY (profile, scope)
) WITHOUT ROWID;
CREATE TABLE unsettled (
    profile TEXT NOT NULL,
    scope   TEXT NOT NULL,
    item    TEXT NOT NULL,
    PRIMARY KEY (profile, scope, item)
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
CREATE INDEX memories_group ON memories (profile, scope, category, status);
CREATE INDEX memories_status ON memories (status);
-- For the queries of hooks: pinned memories, and fixes for an error.
CREATE INDEX memories_pinned ON memories (scope) WHERE instr(body, '"pinned":true') > 0;
CREATE INDEX memories_failure ON memories (scope) WHERE instr(body, '"fingerprint":') > 0;

CREATE VIRTUAL TABLE memory_index USING fts5 (words, content = '', tokenize = 'porter unicode61');
CREATE VIRTUAL TABLE turn_index USING fts5 (words, content = '', tokenize = 'porter unicode61');
-- Replies have an index of their own: in a common one, their mass would determine the word frequencies and lengths used for
-- ranking.
CREATE VIRTUAL TABLE reply_index USING fts5 (words, content = '', tokenize = 'porter unicode61');

-- The queue of rows whose vectors are outdated: memories, prompts, summaries. Derived; the vectors are in a file beside the store.
CREATE TABLE unembedded (
    kind TEXT NOT NULL,
    item INTEGER NOT NULL,
    PRIMARY KEY (kind, item)
) WITHOUT ROWID;

-- How often a memory was used. Local to this machine; a rebuild keeps it.
CREATE TABLE uses (
    memory TEXT PRIMARY KEY,
    times  INTEGER NOT NULL
) WITHOUT ROWID;

-- What was last written to each file: the tagged lines and the hash of their bytes. It is the base of the three-way merge with the
-- user's edits. During a write there is a second row with `intended` = 1, so that after a crash it is clear which of the two the
-- file holds.
CREATE TABLE outputs (
    path     TEXT NOT NULL,
    intended INTEGER NOT NULL,
    hash     TEXT NOT NULL,
    lines    TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (path, intended)
) WITHOUT ROWID;

-- Keyed fingerprints, without content, of forgotten statements, which must not be extracted again.
CREATE TABLE forgotten (
    fingerprint TEXT PRIMARY KEY,
    pass        INTEGER NOT NULL REFERENCES passes (id)
) WITHOUT ROWID;

-- Notes of what was worked on, session by session, derived from the archive. `body` is zlib-compressed JSON: the note's line of
-- text, and the note. `noted.events` is the number of a thread's events that notes cover.
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

-- Day summaries, sentence by sentence. Canonical, because a model or a person wrote them. `form` is `point` (of a thread, noted
-- while a model read it), `line` (of a day and scope, made from points) or `own` (a person's words that replace a line).
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

-- The number of rows of a table and the sum of their checksums, which detect missing rows. Temporary triggers of kept's own
-- connections (tallies.sql) update them, so rows that another program deletes are noticed.
CREATE TABLE tallies (
    name  TEXT PRIMARY KEY,
    count INTEGER NOT NULL,
    total INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO tallies (name, count, total) VALUES
    ('settings', 0, 0), ('files', 0, 0), ('projects', 0, 0), ('opted_out', 0, 0),
    ('runs', 0, 0), ('dirty', 0, 0), ('outputs', 0, 0), ('notes', 0, 0),
    ('summaries', 0, 0);
