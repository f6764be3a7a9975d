-- A thread has a row for each run of events with consecutive numbers, no longer for each event.
ALTER TABLE thread_events RENAME TO told;
CREATE TABLE thread_events (
    thread    INTEGER NOT NULL REFERENCES threads (id),
    ordinal   INTEGER NOT NULL,
    event     INTEGER NOT NULL,
    abandoned INTEGER NOT NULL,
    events    INTEGER NOT NULL,
    PRIMARY KEY (thread, ordinal)
) WITHOUT ROWID;
INSERT INTO thread_events (thread, ordinal, event, abandoned, events)
SELECT thread, min(ordinal), min(event), abandoned, count(*)
FROM (
    SELECT *, row_number() OVER (PARTITION BY thread, event - ordinal, abandoned ORDER BY ordinal) AS place FROM told
)
GROUP BY thread, abandoned, event - ordinal, ordinal - place, event / 512;

-- Sums that were wrong stay wrong, so that `kept check` still reports the damage.
UPDATE threads
SET members = made.members,
    checksum = checksum(id, file, session, project, events, extracted, seen, first_at, last_at, made.members)
FROM (SELECT thread, sum(checksum(ordinal, event, abandoned, events)) AS members FROM thread_events GROUP BY thread) AS made
WHERE made.thread = threads.id
      AND checksum = checksum(id, file, session, project, events, extracted, seen, first_at, last_at, threads.members)
      AND threads.members = (SELECT sum(checksum(ordinal, event, abandoned)) FROM told WHERE told.thread = threads.id);
DROP TABLE told;
CREATE INDEX thread_events_event ON thread_events (event, events, thread);
