-- name: memories_by_words
-- Only the best `ranked` rows of the full-text search are checked for the other conditions. All are checked if it is -1.
SELECT m.rowid AS item, found.score, '' AS author
FROM (
    SELECT rowid AS id, -bm25(memory_index) AS score FROM memory_index WHERE memory_index MATCH :words
    ORDER BY score DESC, rowid LIMIT :ranked
) AS found CROSS JOIN memories AS m ON m.rowid = found.id
WHERE {memories}
ORDER BY found.score DESC, m.id LIMIT :limit;

-- name: turns_by_words
SELECT e.id AS item, found.score, substr(e.voice, 2) AS author
FROM (
    SELECT * FROM (
        SELECT rowid AS id, -bm25(turn_index) AS score FROM turn_index WHERE turn_index MATCH :words
        ORDER BY score DESC, rowid LIMIT :ranked
    )
    UNION ALL SELECT * FROM (
        SELECT rowid AS id, -bm25(reply_index) AS score FROM reply_index WHERE reply_index MATCH :words
        ORDER BY score DESC, rowid LIMIT :ranked
    )
) AS found CROSS JOIN events AS e ON e.id = found.id
WHERE {turns}
ORDER BY found.score DESC, e.id LIMIT :limit;

-- name: summaries_by_words
-- Notes (n) and passages about days (s) share an index.
SELECT coalesce(n.id, s.row) AS item, found.score, '' AS author
FROM (
    SELECT rowid AS id, -bm25(note_index) AS score FROM note_index WHERE note_index MATCH :words
    ORDER BY score DESC, rowid LIMIT :ranked
) AS found LEFT JOIN notes AS n ON n.id = found.id LEFT JOIN summaries AS s ON s.row = found.id
WHERE coalesce(n.id, s.row) IS NOT NULL AND {summaries}
ORDER BY found.score DESC, item LIMIT :limit;

-- name: summaries_among
SELECT n.id AS item FROM notes AS n LEFT JOIN summaries AS s ON false WHERE {summaries}
UNION ALL SELECT s.row FROM summaries AS s LEFT JOIN notes AS n ON false WHERE s.form <> 'point' AND {summaries};

-- name: memories_counted
-- The number of rows that contain each word or phrase, counted up to `most`.
SELECT key AS place, (SELECT count(*) FROM (SELECT 1 FROM memory_index WHERE memory_index MATCH value LIMIT :most)) AS found
FROM json_each(:phrases);

-- name: turns_counted
SELECT key AS place, (SELECT count(*) FROM (SELECT 1 FROM turn_index WHERE turn_index MATCH value LIMIT :most))
     + (SELECT count(*) FROM (SELECT 1 FROM reply_index WHERE reply_index MATCH value LIMIT :most)) AS found
FROM json_each(:phrases);

-- name: summaries_counted
SELECT key AS place, (SELECT count(*) FROM (SELECT 1 FROM note_index WHERE note_index MATCH value LIMIT :most)) AS found
FROM json_each(:phrases);

-- name: memories_among
SELECT m.rowid AS item FROM memories AS m WHERE {memories};

-- name: turns_among
SELECT e.id AS item FROM events AS e WHERE {turns};

-- name: memories_latest
SELECT m.rowid AS item FROM memories AS m WHERE {memories} ORDER BY json_extract(m.body, '$.last_seen') DESC, m.rowid DESC LIMIT :limit;

-- name: turns_latest
SELECT e.id AS item FROM events AS e WHERE {turns} ORDER BY e.at DESC, e.id DESC LIMIT :limit;

-- name: summaries_latest
SELECT n.id AS item, n.at FROM notes AS n LEFT JOIN summaries AS s ON false WHERE {summaries}
UNION ALL SELECT s.row, s.at FROM summaries AS s LEFT JOIN notes AS n ON false WHERE s.form <> 'point' AND {summaries}
ORDER BY 2 DESC, 1 DESC LIMIT :limit;

-- part: covers
te.event BETWEEN e.id / 512 * 512 AND e.id AND te.event + te.events > e.id

-- part: memories
m.status IN (SELECT value FROM json_each(:statuses))
AND (json_extract(m.body, '$.valid_until') IS NULL OR json_extract(m.body, '$.valid_until') > :now)
AND (:scopes IS NULL OR m.scope IN (SELECT value FROM json_each(:scopes)))
AND (:category = '' OR m.category = :category)
AND (:since IS NULL OR json_extract(m.body, '$.last_seen') >= :since)
AND (:until IS NULL OR json_extract(m.body, '$.first_seen') < :until)

-- part: summaries
(:since IS NULL OR coalesce(n.at, s.at) >= :since) AND (:until IS NULL OR coalesce(n.at, s.at) < :until)
AND (:threads IS NULL OR n.thread IN (SELECT value FROM json_each(:threads)) OR s.scope IN (SELECT value FROM json_each(:scopes)))

-- part: turns
substr(e.voice, 1, 1) IN ('p', 'r')
AND (:since IS NULL OR e.at >= :since_ms)
AND (:until IS NULL OR e.at < :until_ms)
AND EXISTS (
    SELECT 1 FROM thread_events AS te
    WHERE {covers} AND NOT te.abandoned AND (:threads IS NULL OR te.thread IN (SELECT value FROM json_each(:threads)))
)

-- name: memories
SELECT m.rowid AS item, m.id, m.category, m.scope, m.status, coalesce(json_extract(m.body, '$.content'), '') AS text,
       json_extract(m.body, '$.confidence') AS confidence, coalesce(json_extract(m.body, '$.first_seen'), '') AS first_at,
       coalesce(json_extract(m.body, '$.last_seen'), '') AS last_at, coalesce(u.times, 0) AS uses,
       coalesce(json_extract(m.body, '$.needed_for'), '[]') AS needed_for
FROM memories AS m LEFT JOIN uses AS u ON u.memory = m.id
WHERE m.rowid IN (SELECT value FROM json_each(:items));

-- name: turns
SELECT e.id AS item, (SELECT max(id) FROM blocks WHERE id <= e.id) AS block, substr(e.voice, 2) AS author,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', e.at / 1000.0, 'unixepoch'), '') AS at, t.session, t.project, f.path
FROM events AS e
CROSS JOIN thread_events AS te ON {covers}
JOIN threads AS t ON t.id = te.thread
JOIN files AS f ON f.id = t.file
WHERE e.id IN (SELECT value FROM json_each(:items))
      AND te.thread = (SELECT min(te.thread) FROM thread_events AS te WHERE {covers})
ORDER BY e.id;

-- name: summaries
SELECT n.id AS item, n.event AS id, n.at, n.body, t.session, t.project, f.path
FROM notes AS n JOIN threads AS t ON t.id = n.thread JOIN files AS f ON f.id = t.file
WHERE n.id IN (SELECT value FROM json_each(:items));

-- name: passages
SELECT s.row AS item, coalesce(json_extract(s.body, '$.events[0]'), s.id) AS id, s.at AS first_at, s.at AS last_at, s.scope,
       coalesce(json_extract(s.body, '$.text'), '') AS text
FROM summaries AS s WHERE s.form <> 'point' AND s.row IN (SELECT value FROM json_each(:items));

-- name: around
-- A neighbour is returned as twice its row, plus one if an assistant said it.
SELECT place.item,
       (SELECT e.id * 2 + (e.voice LIKE '_a') FROM thread_events AS o CROSS JOIN events AS e
        ON e.id >= o.event + max(0, place.ordinal - :reach - o.ordinal) AND e.id < o.event + min(o.events, place.ordinal - o.ordinal)
        WHERE o.thread = place.thread AND o.ordinal < place.ordinal AND o.ordinal > place.ordinal - :reach - 512
              AND e.voice IN ('ph', 'pa', 'rh', 'ra') AND NOT o.abandoned
        ORDER BY o.ordinal DESC, e.id DESC LIMIT 1) AS before,
       (SELECT e.id * 2 + (e.voice LIKE '_a') FROM thread_events AS o CROSS JOIN events AS e
        ON e.id > o.event + max(-1, place.ordinal - o.ordinal) AND e.id < o.event + min(o.events, place.ordinal + :reach + 1 - o.ordinal)
        WHERE o.thread = place.thread AND o.ordinal > place.ordinal - 512 AND o.ordinal <= place.ordinal + :reach
              AND e.voice IN ('ph', 'pa', 'rh', 'ra') AND NOT o.abandoned
        ORDER BY o.ordinal, e.id LIMIT 1) AS after
FROM (
    SELECT e.id AS item, te.thread, te.ordinal + e.id - te.event AS ordinal
    FROM (SELECT value AS id FROM json_each(:items)) AS e CROSS JOIN thread_events AS te ON {covers}
    WHERE te.thread = (SELECT min(te.thread) FROM thread_events AS te WHERE {covers})
) AS place;

-- name: turns_with
SELECT rowid AS item FROM turn_index WHERE turn_index MATCH :word LIMIT :most;

-- name: told_in
-- For each conversation, the number of turns in which a person said a word, and the number of events.
SELECT te.thread, count(*) AS turns, t.events
FROM json_each(:items) AS hit
CROSS JOIN events AS e ON e.id = hit.value AND e.voice LIKE '_h'
CROSS JOIN thread_events AS te ON {covers} AND NOT te.abandoned
CROSS JOIN threads AS t ON t.id = te.thread
GROUP BY te.thread;

-- name: conversations
SELECT (SELECT max(id) FROM threads) AS conversations, (SELECT max(id) FROM events) AS events;

-- name: threads_of
SELECT e.id AS item, min(te.thread) AS thread
FROM (SELECT value AS id FROM json_each(:items)) AS e CROSS JOIN thread_events AS te ON {covers} GROUP BY e.id;

-- name: block
SELECT body FROM blocks WHERE id = :id;

-- name: threads
SELECT t.id, t.project, f.path FROM threads AS t JOIN files AS f ON f.id = t.file;

-- name: projects
SELECT directory, scope, name FROM projects ORDER BY directory;

-- name: memory_terms_table
CREATE VIRTUAL TABLE IF NOT EXISTS temp.memory_terms USING fts5vocab(main, memory_index, row);

-- name: memory_terms
SELECT term FROM temp.memory_terms WHERE term >= :start AND term < :end ORDER BY doc DESC LIMIT 1;

-- name: turn_terms_table
CREATE VIRTUAL TABLE IF NOT EXISTS temp.turn_terms USING fts5vocab(main, turn_index, row);

-- name: turn_terms
SELECT term FROM temp.turn_terms WHERE term >= :start AND term < :end ORDER BY doc DESC LIMIT 1;
