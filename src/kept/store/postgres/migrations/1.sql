-- The shared store in PostgreSQL: the rows of the SQLite store (see store/schema.sql for their meaning), each with its owner (a
-- role) and the version of the change that wrote it. The files of this folder, applied in order, make the schema.
--
-- Left out are tables local to a machine (outputs, looks, uses, unembedded), data that each machine derives from the rows
-- (full-text indexes, passage_hashes, vectors), and all keys but that of fingerprints.
--
-- Row-level security, which also applies to the owner of the tables, lets each role see and write only its own rows; only
-- superusers and roles with BYPASSRLS see all rows.
CREATE SCHEMA kept;

-- The files of this folder that were applied.
CREATE TABLE kept.migrations (
    version integer PRIMARY KEY,
    at      timestamptz NOT NULL DEFAULT now()
);

-- The state of each owner's rows (kept.store.postgres.Head), and their format of the SQLite store.
CREATE TABLE kept.owners (
    role    text COLLATE "C" PRIMARY KEY DEFAULT current_user,
    store   text NOT NULL,
    format  integer NOT NULL,
    version bigint NOT NULL,
    base    bigint NOT NULL
);

-- The rows deleted by each change, so that other machines delete them too. `key` is a JSON list and holds no content.
CREATE TABLE kept.gone (
    role    text COLLATE "C" NOT NULL DEFAULT current_user,
    name    text COLLATE "C" NOT NULL,
    key     text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    PRIMARY KEY (role, name, key)
);

CREATE TABLE kept.settings (
    role       text COLLATE "C" NOT NULL DEFAULT current_user,
    version    bigint NOT NULL,
    "name"     text COLLATE "C" NOT NULL,
    "value"    text COLLATE "C" NOT NULL,
    "checksum" bigint NOT NULL,
    PRIMARY KEY (role, "name")
);
CREATE INDEX settings_version ON kept.settings (role, version);

CREATE TABLE kept.files (
    role       text COLLATE "C" NOT NULL DEFAULT current_user,
    version    bigint NOT NULL,
    "id"       bigint NOT NULL,
    "source"   text COLLATE "C" NOT NULL,
    "path"     text COLLATE "C" NOT NULL,
    "inode"    bigint NOT NULL,
    "offset"   bigint NOT NULL,
    "prefix"   text COLLATE "C" NOT NULL,
    "line"     bigint NOT NULL,
    "carry"    text COLLATE "C" NOT NULL,
    "account"  text COLLATE "C" NOT NULL,
    "checksum" bigint NOT NULL,
    PRIMARY KEY (role, "id")
);
CREATE INDEX files_version ON kept.files (role, version);

CREATE TABLE kept.blocks (
    role      text COLLATE "C" NOT NULL DEFAULT current_user,
    version   bigint NOT NULL,
    "id"      bigint NOT NULL,
    "body"    bytea NOT NULL,
    "hash"    text COLLATE "C" NOT NULL,
    PRIMARY KEY (role, "id")
);
CREATE INDEX blocks_version ON kept.blocks (role, version);

CREATE TABLE kept.events (
    role      text COLLATE "C" NOT NULL DEFAULT current_user,
    version   bigint NOT NULL,
    "id"      bigint NOT NULL,
    "key"     text COLLATE "C" NOT NULL,
    "twin"    text COLLATE "C",
    "block"   bigint NOT NULL,
    "place"   bigint NOT NULL,
    "at"      text COLLATE "C",
    "kind"    text COLLATE "C" NOT NULL,
    "author"  text COLLATE "C" NOT NULL,
    "record"  bigint NOT NULL,
    "parent"  bigint NOT NULL,
    "turn"    bigint NOT NULL,
    PRIMARY KEY (role, "id")
);
CREATE INDEX events_version ON kept.events (role, version);

CREATE TABLE kept.threads (
    role        text COLLATE "C" NOT NULL DEFAULT current_user,
    version     bigint NOT NULL,
    "id"        bigint NOT NULL,
    "file"      bigint NOT NULL,
    "session"   text COLLATE "C" NOT NULL,
    "project"   text COLLATE "C" NOT NULL,
    "events"    bigint NOT NULL,
    "extracted" bigint NOT NULL,
    "seen"      bigint NOT NULL,
    "first_at"  text COLLATE "C",
    "last_at"   text COLLATE "C",
    "members"   bigint NOT NULL,
    "checksum"  bigint NOT NULL,
    PRIMARY KEY (role, "id")
);
CREATE INDEX threads_version ON kept.threads (role, version);

CREATE TABLE kept.thread_events (
    role        text COLLATE "C" NOT NULL DEFAULT current_user,
    version     bigint NOT NULL,
    "thread"    bigint NOT NULL,
    "ordinal"   bigint NOT NULL,
    "event"     bigint NOT NULL,
    "abandoned" bigint NOT NULL,
    PRIMARY KEY (role, "thread", "ordinal")
);
CREATE INDEX thread_events_version ON kept.thread_events (role, version);

CREATE TABLE kept.hearings (
    role       text COLLATE "C" NOT NULL DEFAULT current_user,
    version    bigint NOT NULL,
    "thread"   bigint NOT NULL,
    "closed"   bigint NOT NULL,
    "seen"     bigint NOT NULL,
    "checksum" bigint NOT NULL,
    PRIMARY KEY (role, "thread")
);
CREATE INDEX hearings_version ON kept.hearings (role, version);

CREATE TABLE kept.projects (
    role        text COLLATE "C" NOT NULL DEFAULT current_user,
    version     bigint NOT NULL,
    "directory" text COLLATE "C" NOT NULL,
    "identity"  text COLLATE "C" NOT NULL,
    "name"      text COLLATE "C" NOT NULL,
    "scope"     text COLLATE "C" NOT NULL,
    "checksum"  bigint NOT NULL,
    PRIMARY KEY (role, "directory")
);
CREATE INDEX projects_version ON kept.projects (role, version);

CREATE TABLE kept.opted_out (
    role       text COLLATE "C" NOT NULL DEFAULT current_user,
    version    bigint NOT NULL,
    "session"  text COLLATE "C" NOT NULL,
    "path"     text COLLATE "C" NOT NULL,
    "checksum" bigint NOT NULL,
    PRIMARY KEY (role, "session")
);
CREATE INDEX opted_out_version ON kept.opted_out (role, version);

CREATE TABLE kept.likenesses (
    role       text COLLATE "C" NOT NULL DEFAULT current_user,
    version    bigint NOT NULL,
    "mark"     text COLLATE "C" NOT NULL,
    "event"    bigint NOT NULL,
    "path"     text COLLATE "C" NOT NULL,
    "checksum" bigint NOT NULL,
    PRIMARY KEY (role, "mark")
);
CREATE INDEX likenesses_version ON kept.likenesses (role, version);

CREATE TABLE kept.runs (
    role         text COLLATE "C" NOT NULL DEFAULT current_user,
    version      bigint NOT NULL,
    "id"         bigint NOT NULL,
    "command"    text COLLATE "C" NOT NULL,
    "started_at" text COLLATE "C" NOT NULL,
    "ended_at"   text COLLATE "C",
    "report"     text COLLATE "C",
    "checksum"   bigint NOT NULL,
    PRIMARY KEY (role, "id")
);
CREATE INDEX runs_version ON kept.runs (role, version);

CREATE TABLE kept.passes (
    role          text COLLATE "C" NOT NULL DEFAULT current_user,
    version       bigint NOT NULL,
    "id"          bigint NOT NULL,
    "run"         bigint NOT NULL,
    "stage"       text COLLATE "C" NOT NULL,
    "subject"     text COLLATE "C" NOT NULL,
    "actor"       text COLLATE "C" NOT NULL,
    "recorded_at" text COLLATE "C" NOT NULL,
    "undoes"      text COLLATE "C" NOT NULL,
    "redoes"      text COLLATE "C" NOT NULL,
    "note"        text COLLATE "C" NOT NULL,
    "hash"        text COLLATE "C" NOT NULL,
    PRIMARY KEY (role, "id")
);
CREATE INDEX passes_version ON kept.passes (role, version);

CREATE TABLE kept.operations (
    role         text COLLATE "C" NOT NULL DEFAULT current_user,
    version      bigint NOT NULL,
    "id"         bigint NOT NULL,
    "pass"       bigint NOT NULL,
    "memory"     text COLLATE "C" NOT NULL,
    "kind"       text COLLATE "C" NOT NULL,
    "body"       text COLLATE "C" NOT NULL,
    "commitment" text COLLATE "C" NOT NULL,
    PRIMARY KEY (role, "id")
);
CREATE INDEX operations_version ON kept.operations (role, version);

CREATE TABLE kept.mentions (
    role        text COLLATE "C" NOT NULL DEFAULT current_user,
    version     bigint NOT NULL,
    "memory"    text COLLATE "C" NOT NULL,
    "operation" bigint NOT NULL,
    PRIMARY KEY (role, "memory", "operation")
);
CREATE INDEX mentions_version ON kept.mentions (role, version);

CREATE TABLE kept.spans (
    role      text COLLATE "C" NOT NULL DEFAULT current_user,
    version   bigint NOT NULL,
    "pass"    bigint NOT NULL,
    "thread"  bigint NOT NULL,
    "start"   bigint NOT NULL,
    PRIMARY KEY (role, "pass", "thread")
);
CREATE INDEX spans_version ON kept.spans (role, version);

CREATE TABLE kept.candidates (
    role         text COLLATE "C" NOT NULL DEFAULT current_user,
    version      bigint NOT NULL,
    "row"        bigint NOT NULL,
    "pass"       bigint NOT NULL,
    "thread"     bigint NOT NULL,
    "ordinal"    bigint NOT NULL,
    "id"         text COLLATE "C" NOT NULL,
    "profile"    text COLLATE "C" NOT NULL,
    "scope"      text COLLATE "C" NOT NULL,
    "verdict"    text COLLATE "C" NOT NULL,
    "body"       text COLLATE "C" NOT NULL,
    "commitment" text COLLATE "C" NOT NULL,
    "live"       bigint NOT NULL,
    "checksum"   bigint NOT NULL,
    PRIMARY KEY (role, "row")
);
CREATE INDEX candidates_version ON kept.candidates (role, version);

CREATE TABLE kept.sealed (
    role      text COLLATE "C" NOT NULL DEFAULT current_user,
    version   bigint NOT NULL,
    "owner"   text COLLATE "C" NOT NULL,
    "salt"    text COLLATE "C" NOT NULL,
    "words"   text COLLATE "C" NOT NULL,
    PRIMARY KEY (role, "owner")
);
CREATE INDEX sealed_version ON kept.sealed (role, version);

CREATE TABLE kept.dirty (
    role       text COLLATE "C" NOT NULL DEFAULT current_user,
    version    bigint NOT NULL,
    "profile"  text COLLATE "C" NOT NULL,
    "scope"    text COLLATE "C" NOT NULL,
    "checksum" bigint NOT NULL,
    PRIMARY KEY (role, "profile", "scope")
);
CREATE INDEX dirty_version ON kept.dirty (role, version);

CREATE TABLE kept.memories (
    role       text COLLATE "C" NOT NULL DEFAULT current_user,
    version    bigint NOT NULL,
    "rowid"    bigint NOT NULL,
    "id"       text COLLATE "C" NOT NULL,
    "profile"  text COLLATE "C" NOT NULL,
    "category" text COLLATE "C" NOT NULL,
    "scope"    text COLLATE "C" NOT NULL,
    "status"   text COLLATE "C" NOT NULL,
    "body"     text COLLATE "C" NOT NULL,
    "checksum" bigint NOT NULL,
    PRIMARY KEY (role, "rowid")
);
CREATE INDEX memories_version ON kept.memories (role, version);

CREATE TABLE kept.forgotten (
    role          text COLLATE "C" NOT NULL DEFAULT current_user,
    version       bigint NOT NULL,
    "fingerprint" text COLLATE "C" NOT NULL,
    "pass"        bigint NOT NULL,
    PRIMARY KEY (role, "fingerprint")
);
CREATE INDEX forgotten_version ON kept.forgotten (role, version);

CREATE TABLE kept.notes (
    role       text COLLATE "C" NOT NULL DEFAULT current_user,
    version    bigint NOT NULL,
    "id"       bigint NOT NULL,
    "thread"   bigint NOT NULL,
    "ordinal"  bigint NOT NULL,
    "event"    text COLLATE "C" NOT NULL,
    "at"       text COLLATE "C" NOT NULL,
    "body"     bytea NOT NULL,
    "checksum" bigint NOT NULL,
    PRIMARY KEY (role, "id")
);
CREATE INDEX notes_version ON kept.notes (role, version);

CREATE TABLE kept.noted (
    role      text COLLATE "C" NOT NULL DEFAULT current_user,
    version   bigint NOT NULL,
    "thread"  bigint NOT NULL,
    "events"  bigint NOT NULL,
    PRIMARY KEY (role, "thread")
);
CREATE INDEX noted_version ON kept.noted (role, version);

CREATE TABLE kept.summaries (
    role       text COLLATE "C" NOT NULL DEFAULT current_user,
    version    bigint NOT NULL,
    "row"      bigint NOT NULL,
    "id"       text COLLATE "C" NOT NULL,
    "form"     text COLLATE "C" NOT NULL,
    "day"      text COLLATE "C" NOT NULL,
    "scope"    text COLLATE "C" NOT NULL,
    "thread"   bigint NOT NULL,
    "ordinal"  bigint NOT NULL,
    "at"       text COLLATE "C" NOT NULL,
    "body"     text COLLATE "C" NOT NULL,
    "checksum" bigint NOT NULL,
    PRIMARY KEY (role, "row")
);
CREATE INDEX summaries_version ON kept.summaries (role, version);

-- Enable row-level security on every table with a role column; the loop ensures that none is forgotten.
DO $$
DECLARE
    each text;
BEGIN
    FOR each IN SELECT table_name FROM information_schema.columns WHERE table_schema = 'kept' AND column_name = 'role' LOOP
        EXECUTE format('ALTER TABLE kept.%I ENABLE ROW LEVEL SECURITY', each);
        EXECUTE format('ALTER TABLE kept.%I FORCE ROW LEVEL SECURITY', each);
        EXECUTE format('CREATE POLICY own_rows ON kept.%I USING (role = current_user) WITH CHECK (role = current_user)', each);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON kept.%I TO PUBLIC', each);
    END LOOP;
END
$$;
GRANT USAGE ON SCHEMA kept TO PUBLIC;
GRANT SELECT ON kept.migrations TO PUBLIC;
