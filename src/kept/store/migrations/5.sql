-- Blocks are packed in columns, each under the number of its first event, and hold all that is known of their events: rows and marks of
-- events are derived of them.
ALTER TABLE blocks RENAME TO packed;
CREATE TABLE blocks (
    id   INTEGER PRIMARY KEY,
    body BLOB NOT NULL,
    hash TEXT NOT NULL
);
INSERT INTO blocks (id, body, hash)
SELECT first, coalesce(packed, body), coalesce(block_hash(packed), hash) FROM ( -- one that is damaged stays so
    SELECT min(e.id) AS first, b.body, b.hash, repack(b.body, json_group_array(json_array(e.twin, e.mark))) AS packed
    FROM packed AS b JOIN (
        SELECT o.id, o.block, o.twin, l.mark FROM events AS o LEFT JOIN likenesses AS l ON l.event = o.id ORDER BY o.block, o.place
    ) AS e ON e.block = b.id
    GROUP BY b.id
);
DROP TABLE likenesses;
DELETE FROM tallies WHERE name = 'likenesses';
DROP TABLE events;
DROP TABLE packed;
CREATE TABLE events (
    id    INTEGER PRIMARY KEY,
    at    INTEGER,
    voice TEXT NOT NULL
);
CREATE TABLE marks (
    mark  INTEGER NOT NULL,
    event INTEGER NOT NULL,
    PRIMARY KEY (mark, event)
) WITHOUT ROWID;
DROP TABLE passage_hashes;
CREATE TABLE passage_hashes (
    hash    INTEGER NOT NULL,
    event   INTEGER NOT NULL,
    session TEXT NOT NULL,
    at      TEXT,
    PRIMARY KEY (hash, event)
) WITHOUT ROWID;
CREATE INDEX passage_hashes_event ON passage_hashes (event);

-- What threads tell is true of the archive, whatever is derived of it.
ALTER TABLE thread_events RENAME TO told;
CREATE TABLE thread_events (
    thread    INTEGER NOT NULL REFERENCES threads (id),
    ordinal   INTEGER NOT NULL,
    event     INTEGER NOT NULL,
    abandoned INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (thread, ordinal)
) WITHOUT ROWID;
INSERT INTO thread_events (thread, ordinal, event, abandoned) SELECT thread, ordinal, event, abandoned FROM told;
DROP TABLE told;
CREATE INDEX thread_events_event ON thread_events (event, thread);

-- They are made when the store is opened, with the indexes of turns.
INSERT OR IGNORE INTO settings (name, value, checksum) VALUES ('reindexing', 'archive', checksum('reindexing', 'archive'));
UPDATE tallies SET (count, total) = (SELECT count(*), coalesce(sum(checksum), 0) FROM settings) WHERE name = 'settings';
