-- The queries of hooks, which must take only a few milliseconds. All are read-only.
-- The plus before `status` prevents the planner, which has no statistics, from scanning all active memories through its index.

-- name: scope
-- The scope of a directory.
SELECT scope FROM projects WHERE directory = :directory;

-- name: project_names
-- The names of the projects with some scopes.
SELECT scope, name FROM projects WHERE scope IN (SELECT value FROM json_each(:scopes)) GROUP BY scope;

-- name: index_heads
-- The first records of the full-text indexes.
-- The first record of a full-text index begins with the number of its rows.
SELECT block FROM memory_index_data WHERE id = 1 UNION ALL SELECT block FROM turn_index_data WHERE id = 1
UNION ALL SELECT block FROM reply_index_data WHERE id = 1;

-- name: count_turns_with
-- The number of prompts and replies that contain a word.
SELECT (SELECT count(*) FROM turn_index WHERE turn_index MATCH :word) + (SELECT count(*) FROM reply_index WHERE reply_index MATCH :word) AS count;

-- name: memories_with_word
-- The rows of the memories that contain a word.
SELECT rowid AS row FROM memory_index WHERE memory_index MATCH :word;

-- name: active_memories
-- The rows, of some, that hold active memories of some scopes and profiles.
SELECT rowid AS row FROM memories WHERE rowid IN (SELECT value FROM json_each(:rows)) AND +status = 'active'
      AND +profile IN (SELECT value FROM json_each(:profiles)) AND +scope IN (SELECT value FROM json_each(:scopes));

-- name: memories_with_phrases
-- The rows of the `most` active memories of some scopes and profiles that best match some words.
SELECT m.rowid AS row FROM memory_index CROSS JOIN memories AS m ON m.rowid = memory_index.rowid
WHERE memory_index MATCH :words AND m.status = 'active' AND m.profile IN (SELECT value FROM json_each(:profiles)) AND m.scope IN (SELECT value FROM json_each(:scopes))
ORDER BY memory_index.rank LIMIT :most;

-- name: memories_by_id
-- The rows of the active memories with some ids, of some scopes and profiles.
SELECT rowid AS row FROM memories WHERE id IN (SELECT value FROM json_each(:ids)) AND +status = 'active'
      AND profile IN (SELECT value FROM json_each(:profiles)) AND scope IN (SELECT value FROM json_each(:scopes));

-- name: notes_with_word
-- The rows of the notes of some scopes that contain a word.
SELECT n.id AS row FROM note_index CROSS JOIN notes AS n ON n.id = note_index.rowid
JOIN threads AS t ON t.id = n.thread LEFT JOIN projects AS p ON p.directory = t.project
WHERE note_index MATCH :word AND p.scope IN (SELECT value FROM json_each(:scopes));

-- name: count_notes
-- The number of notes of some scopes.
SELECT count(*) AS count FROM notes AS n JOIN threads AS t ON t.id = n.thread LEFT JOIN projects AS p ON p.directory = t.project
WHERE p.scope IN (SELECT value FROM json_each(:scopes));

-- name: memories
-- The memories in some rows, with their use counts.
SELECT m.rowid AS row, m.id, m.category, m.scope, m.body, coalesce(u.times, 0) AS uses
FROM memories AS m LEFT JOIN uses AS u ON u.memory = m.id WHERE m.rowid IN (SELECT value FROM json_each(:rows));

-- name: always_shown
-- The active memories of some categories of the user's scope, the pinned ones, and those of some (or all) categories of projects.
SELECT rowid AS row, id, category, scope, body, 0 AS uses FROM memories
WHERE profile IN (SELECT value FROM json_each(:profiles)) AND scope = 'user' AND +status = 'active'
      AND category IN (SELECT value FROM json_each(:categories))
UNION ALL
SELECT rowid AS row, id, category, scope, body, 0 AS uses FROM memories INDEXED BY memories_pinned
WHERE instr(body, '"pinned":true') > 0 AND profile IN (SELECT value FROM json_each(:profiles)) AND +status = 'active'
      AND scope IN (SELECT value FROM json_each(:scopes))
      AND NOT (scope = 'user' AND category IN (SELECT value FROM json_each(:categories)))
UNION ALL
SELECT rowid AS row, id, category, scope, body, 0 AS uses FROM memories
WHERE profile IN (SELECT value FROM json_each(:profiles)) AND scope IN (SELECT value FROM json_each(:scopes)) AND scope <> 'user'
      AND +status = 'active' AND category IN (SELECT value FROM json_each(:rules)) AND instr(body, '"pinned":true') = 0
UNION ALL
SELECT rowid AS row, id, category, scope, body, 0 AS uses FROM memories
WHERE :rules IS NULL AND profile IN (SELECT value FROM json_each(:profiles)) AND scope IN (SELECT value FROM json_each(:scopes))
      AND scope <> 'user' AND +status = 'active' AND instr(body, '"pinned":true') = 0;

-- name: memories_by_fingerprint
-- The active memories with one of some error fingerprints.
SELECT rowid AS row, id, category, scope, body, 0 AS uses FROM memories INDEXED BY memories_failure
WHERE instr(body, '"fingerprint":') > 0 AND +status = 'active'
      AND json_extract(body, '$.fingerprint') IN (SELECT value FROM json_each(:marks));

-- name: notes
-- The notes in some rows.
SELECT n.id AS row, n.event, n.at, t.session, n.body
FROM notes AS n JOIN threads AS t ON t.id = n.thread WHERE n.id IN (SELECT value FROM json_each(:rows));

-- name: notes_between
-- The latest 200 notes of some scopes in a span of time.
SELECT n.id AS row, n.event, n.at, t.session, n.body
FROM notes AS n JOIN threads AS t ON t.id = n.thread LEFT JOIN projects AS p ON p.directory = t.project
WHERE n.at >= :start AND n.at < :stop AND p.scope IN (SELECT value FROM json_each(:scopes)) ORDER BY n.at DESC LIMIT 200;

-- name: passages
-- The latest 100 lines and a person's own words about a span of days, of some scopes.
SELECT id, day, scope, body FROM summaries
WHERE form <> 'point' AND day >= :first AND day <= :last AND scope IN (SELECT value FROM json_each(:scopes)) ORDER BY day DESC, ordinal LIMIT 100;

-- name: outputs
-- What was last written to each file.
SELECT path, lines FROM outputs WHERE intended = 0;

-- name: prompt
-- The time, thread, ordinal and session of a prompt of the person, unless it was abandoned or its session opted out.
SELECT strftime('%Y-%m-%dT%H:%M:%fZ', e.at / 1000.0, 'unixepoch'), te.thread, te.ordinal + e.id - te.event, t.session
FROM events AS e CROSS JOIN thread_events AS te ON te.event BETWEEN e.id / 512 * 512 AND e.id AND te.event + te.events > e.id JOIN threads AS t ON t.id = te.thread
WHERE e.id = :event AND e.voice = 'ph' AND NOT te.abandoned AND e.at IS NOT NULL
      AND t.session NOT IN (SELECT session FROM opted_out) ORDER BY te.thread LIMIT 1;

-- name: repeated_passages
-- The hashes of the passages of an event that other sessions contain too.
SELECT hash FROM passage_hashes AS p WHERE p.event = :event
      AND EXISTS (SELECT 1 FROM passage_hashes AS o WHERE o.hash = p.hash AND o.session <> p.session);

-- name: reply
-- The assistant's last reply before the next prompt.
SELECT e.id FROM (
    SELECT coalesce((
        SELECT te.ordinal + e.id - te.event FROM thread_events AS te CROSS JOIN events AS e
        ON e.id > te.event + max(-1, :ordinal - te.ordinal) AND e.id < te.event + te.events
        WHERE te.thread = :thread AND te.ordinal > :ordinal - 512 AND e.voice LIKE 'p_' ORDER BY te.ordinal, e.id LIMIT 1
    ), 1 << 62) AS stop
) AS next CROSS JOIN thread_events AS te CROSS JOIN events AS e
ON e.id > te.event + max(-1, :ordinal - te.ordinal) AND e.id < te.event + min(te.events, stop - te.ordinal)
WHERE te.thread = :thread AND te.ordinal > :ordinal - 512 AND te.ordinal < stop AND NOT te.abandoned AND e.voice = 'ra'
ORDER BY te.ordinal DESC, e.id DESC LIMIT 1;

-- name: block
-- The block that holds an event.
SELECT id, body FROM blocks WHERE id <= :event ORDER BY id DESC LIMIT 1;

-- name: next_prompt
-- The next prompt of the person, if it is within some hundred events.
SELECT e.id FROM thread_events AS te CROSS JOIN events AS e
ON e.id > te.event + max(-1, :ordinal - te.ordinal) AND e.id < te.event + te.events
WHERE te.thread = :thread AND te.ordinal > :ordinal - 512 AND te.ordinal < :ordinal + 512 AND NOT te.abandoned AND e.voice = 'ph'
ORDER BY te.ordinal, e.id LIMIT 1;

-- name: events_with_mark
-- The events with a mark.
SELECT event FROM marks WHERE mark = :mark ORDER BY event;

-- name: ended_memories
-- The latest 100 memories of some scopes that ended after an instant, and the active memories that superseded them.
SELECT json_extract(old.body, '$.content') AS content, coalesce(json_extract(new.body, '$.content'), '') AS instead
FROM memories AS old LEFT JOIN memories AS new ON new.id = json_extract(old.body, '$.superseded_by') AND +new.status = 'active'
WHERE old.status IN ('superseded', 'resolved', 'retired') AND +old.scope IN (SELECT value FROM json_each(:scopes))
      AND json_extract(old.body, '$.ended_at') > :after AND json_extract(old.body, '$.content') <> ''
ORDER BY json_extract(old.body, '$.ended_at') DESC LIMIT 100;

-- name: memories_based_on
-- Memories that rest on a prompt, and the active memories that superseded them.
SELECT old.status, coalesce(json_extract(old.body, '$.content'), '') AS content, coalesce(json_extract(new.body, '$.content'), '') AS instead
FROM memories AS old LEFT JOIN memories AS new ON new.id = json_extract(old.body, '$.superseded_by') AND +new.status = 'active'
WHERE old.status IN ('active', 'superseded', 'resolved', 'retired', 'rejected') AND instr(old.body, json_quote(:key)) > 0;
