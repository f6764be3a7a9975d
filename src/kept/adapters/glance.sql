-- What a hook reads of the store, in a few milliseconds. Everything is read only.

-- name: scope
SELECT scope FROM projects WHERE directory = :directory;

-- name: scopes
SELECT directory, scope FROM projects;

-- name: names
SELECT scope, name FROM projects WHERE scope IN (SELECT value FROM json_each(:scopes)) GROUP BY scope;

-- name: texts
SELECT (SELECT count(*) FROM memories) + (SELECT count(*) FROM turn_index_docsize) AS texts;

-- name: memories_with
SELECT count(*) AS count FROM memory_index WHERE memory_index MATCH :word;

-- name: turns_with
SELECT count(*) AS count FROM turn_index WHERE turn_index MATCH :word;

-- name: memories_of
SELECT m.rowid AS row FROM memory_index CROSS JOIN memories AS m ON m.rowid = memory_index.rowid
WHERE memory_index MATCH :word AND m.status = 'active' AND m.profile IN (SELECT value FROM json_each(:profiles)) AND m.scope IN (SELECT value FROM json_each(:scopes));

-- name: turns_of
SELECT rowid AS row FROM turn_index WHERE turn_index MATCH :word LIMIT 2000;

-- name: memories
SELECT rowid AS row, id, category, scope, body FROM memories WHERE rowid IN (SELECT value FROM json_each(:rows));

-- name: core
SELECT rowid AS row, id, category, scope, body FROM memories
WHERE status = 'active' AND profile IN (SELECT value FROM json_each(:profiles)) AND scope IN (SELECT value FROM json_each(:scopes))
      AND ((scope = 'user' AND category IN (SELECT value FROM json_each(:categories))) OR instr(body, '"pinned":true') > 0);

-- name: fixes
SELECT rowid AS row, id, category, scope, body FROM memories
WHERE status = 'active' AND json_extract(body, '$.fingerprint') IN (SELECT value FROM json_each(:marks));

-- name: turns
SELECT e.id AS row, e.key, e.author, e.kind, e.at, e.block, e.place, t.session, t.project, f.path
FROM events AS e
JOIN thread_events AS te ON te.event = e.id AND NOT te.abandoned
JOIN threads AS t ON t.id = te.thread
JOIN files AS f ON f.id = t.file
WHERE e.id IN (SELECT value FROM json_each(:rows))
GROUP BY e.id HAVING te.thread = min(te.thread)
ORDER BY e.block;

-- name: block
SELECT body FROM blocks WHERE id = :id;

-- name: output
SELECT path, lines FROM outputs WHERE intended = 0;
