-- How much of a thread a model has read: its chunks are closed before the ordinal `closed`, and it had `seen` events then. Progress only:
-- without a row (or with a rotten one) the thread is read again, mostly out of the cache.
CREATE TABLE hearings (
    thread INTEGER PRIMARY KEY REFERENCES threads (id),
    closed INTEGER NOT NULL,
    seen   INTEGER NOT NULL
);
