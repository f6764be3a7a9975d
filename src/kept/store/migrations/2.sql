-- Which operations concern which memories, merges and replacements included; and a record of the migrations themselves.
CREATE TABLE migrations (
    version INTEGER PRIMARY KEY,
    at      TEXT NOT NULL
);

CREATE TABLE mentions (
    memory    TEXT NOT NULL,
    operation INTEGER NOT NULL REFERENCES operations (id),
    PRIMARY KEY (memory, operation)
) WITHOUT ROWID;
CREATE INDEX mentions_operation ON mentions (operation);

INSERT OR IGNORE INTO mentions (memory, operation)
SELECT memory, id FROM operations
UNION SELECT json_extract(body, '$.by'), id FROM operations WHERE json_extract(body, '$.by') <> ''
UNION SELECT loser.value, o.id FROM operations AS o, json_each(o.body, '$.losers') AS loser;

DROP INDEX operations_memory;

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
