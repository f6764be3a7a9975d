-- name: memories_by_words
SELECT m.rowid AS item, -bm25(memory_index) AS score
FROM memory_index JOIN memories AS m ON m.rowid = memory_index.rowid
WHERE memory_index MATCH :words AND {memories}
ORDER BY score DESC, m.id LIMIT :limit;

-- name: turns_by_words
SELECT e.id AS item, -bm25(turn_index) AS score
FROM turn_index JOIN events AS e ON e.id = turn_index.rowid
WHERE turn_index MATCH :words AND {turns}
ORDER BY score DESC, e.id LIMIT :limit;

-- name: memories_among
SELECT m.rowid AS item FROM memories AS m WHERE {memories};

-- name: turns_among
SELECT e.id AS item FROM events AS e WHERE {turns};

-- name: memory_filter
m.status IN (SELECT value FROM json_each(:statuses))
AND (json_extract(m.body, '$.valid_until') IS NULL OR json_extract(m.body, '$.valid_until') > :now)
AND (:scopes IS NULL OR m.scope IN (SELECT value FROM json_each(:scopes)))
AND (:category = '' OR m.category = :category)
AND (:since IS NULL OR json_extract(m.body, '$.last_seen') >= :since)
AND (:until IS NULL OR json_extract(m.body, '$.first_seen') < :until);

-- name: turn_filter
e.kind IN ('prompt', 'response')
AND (:since IS NULL OR e.at >= :since)
AND (:until IS NULL OR e.at < :until)
AND EXISTS (
    SELECT 1 FROM thread_events AS te
    WHERE te.event = e.id AND NOT te.abandoned AND (:threads IS NULL OR te.thread IN (SELECT value FROM json_each(:threads)))
);

-- name: memories
SELECT rowid AS item, id, category, scope, status, json_extract(body, '$.content') AS text,
       json_extract(body, '$.confidence') AS confidence, json_extract(body, '$.first_seen') AS first_at,
       json_extract(body, '$.last_seen') AS last_at
FROM memories WHERE rowid IN (SELECT value FROM json_each(:items));

-- name: turns
SELECT e.id AS item, e.key AS id, e.author, e.at, e.block, e.place, t.session, t.project, f.path
FROM events AS e
JOIN thread_events AS te ON te.event = e.id
JOIN threads AS t ON t.id = te.thread
JOIN files AS f ON f.id = t.file
WHERE e.id IN (SELECT value FROM json_each(:items))
      AND te.thread = (SELECT min(o.thread) FROM thread_events AS o WHERE o.event = e.id)
ORDER BY e.block;

-- name: block
SELECT body FROM blocks WHERE id = :id;

-- name: threads
SELECT t.id, t.project, f.path FROM threads AS t JOIN files AS f ON f.id = t.file;

-- name: projects
SELECT directory, scope, name FROM projects ORDER BY directory;
