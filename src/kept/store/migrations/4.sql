-- Hashes of long passages in what people said, to tell what came in several sessions and so was not typed anew. Derived; compared by `check`.
CREATE TABLE passage_hashes (
    hash    INTEGER NOT NULL,
    event   INTEGER NOT NULL REFERENCES events (id),
    session TEXT NOT NULL,
    at      TEXT,
    PRIMARY KEY (hash, event)
) WITHOUT ROWID;
CREATE INDEX passage_hashes_event ON passage_hashes (event);

-- They are made when the store is opened, with the indexes of turns.
INSERT OR IGNORE INTO settings (name, value, checksum) VALUES ('reindexing', '', checksum('reindexing', ''));
UPDATE tallies SET (count, total) = (SELECT count(*), coalesce(sum(checksum), 0) FROM settings) WHERE name = 'settings';
