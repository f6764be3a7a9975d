-- The ids in a block are bytes, no longer hexadecimal digits. A damaged block stays as it is.
UPDATE blocks SET body = shorten_ids(body) WHERE block_hash(body) = hash;
UPDATE blocks SET hash = block_hash(body) WHERE CAST(substr(body, 1, 4) AS TEXT) = 'ids' || char(10);

-- A long passage has a hash of its session; its time is that of its event.
ALTER TABLE passage_hashes RENAME TO told;
CREATE TABLE passage_hashes (
    hash    INTEGER NOT NULL,
    event   INTEGER NOT NULL,
    session INTEGER NOT NULL,
    PRIMARY KEY (hash, event)
) WITHOUT ROWID;
INSERT INTO passage_hashes (hash, event, session) SELECT hash, event, mark_of('session', session) FROM told;
DROP TABLE told;
CREATE INDEX passage_hashes_event ON passage_hashes (event);
