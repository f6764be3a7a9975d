-- name: setting
SELECT value FROM settings WHERE name = :name;

-- name: add_setting
INSERT OR IGNORE INTO settings (name, value) VALUES (:name, :value);

-- name: file
SELECT id, inode, offset, prefix, line, carry, account FROM files WHERE source = :source AND path = :path;

-- name: files
SELECT source, path, offset, line, account FROM files ORDER BY source, path;

-- name: put_file
INSERT INTO files (source, path, inode, offset, prefix, line, carry, account)
VALUES (:source, :path, :inode, :offset, :prefix, :line, :carry, :account)
ON CONFLICT (source, path) DO UPDATE SET
    inode = excluded.inode, offset = excluded.offset, prefix = excluded.prefix,
    line = excluded.line, carry = excluded.carry, account = excluded.account
RETURNING id;

-- name: event_by_key
SELECT id FROM events WHERE key = :key;

-- name: event_by_twin
SELECT id FROM events WHERE twin = :twin;

-- name: add_block
INSERT INTO blocks (body, hash) VALUES (:body, :hash) RETURNING id;

-- name: add_event
INSERT INTO events (key, twin, block, place, at, kind, author, record, parent, turn)
VALUES (:key, :twin, :block, :place, :at, :kind, :author, :record, :parent, :turn)
RETURNING id;

-- name: index_turn
INSERT INTO turn_index (rowid, words) VALUES (:id, :words);

-- name: unindex_turn
INSERT INTO turn_index (turn_index, rowid, words) VALUES ('delete', :id, :words);

-- name: thread
SELECT id, events, first_at, last_at, project FROM threads WHERE file = :file AND session = :session;

-- name: add_thread
INSERT INTO threads (file, session, project, events, extracted, seen) VALUES (:file, :session, :project, 0, 0, 0) RETURNING id;

-- name: name_project
UPDATE threads SET project = :project WHERE id = :thread AND project = '';

-- name: projects
SELECT DISTINCT project FROM threads ORDER BY project;

-- name: in_thread
SELECT 1 FROM thread_events WHERE event = :event AND thread = :thread;

-- name: add_to_thread
INSERT INTO thread_events (thread, ordinal, event) VALUES (:thread, :ordinal, :event);

-- name: grow_thread
UPDATE threads SET events = :events, first_at = :first_at, last_at = :last_at WHERE id = :id;

-- name: pending_threads
SELECT t.id, t.session, t.project, t.events, t.extracted, t.first_at, t.last_at, f.source, f.path
FROM threads AS t JOIN files AS f ON f.id = t.file
WHERE t.events > t.seen
ORDER BY t.first_at, f.path, t.session;

-- name: all_threads
SELECT t.id, t.session, t.project, t.events, t.extracted, t.first_at, t.last_at, f.source, f.path
FROM threads AS t JOIN files AS f ON f.id = t.file
ORDER BY t.first_at, f.path, t.session;

-- name: thread_nodes
SELECT te.ordinal, te.abandoned, e.record, e.parent, e.turn, e.kind, e.author
FROM thread_events AS te JOIN events AS e ON e.id = te.event
WHERE te.thread = :thread
ORDER BY te.ordinal;

-- name: mark_abandoned
UPDATE thread_events SET abandoned = :abandoned WHERE thread = :thread AND ordinal = :ordinal;

-- name: thread_slice
SELECT te.ordinal, te.abandoned, e.block, e.place
FROM thread_events AS te JOIN events AS e ON e.id = te.event
WHERE te.thread = :thread AND te.ordinal >= :start AND te.ordinal < :stop
ORDER BY te.ordinal;

-- name: block
SELECT body FROM blocks WHERE id = :id;

-- name: event_place
SELECT e.id, e.block, e.place FROM events AS e WHERE e.key = :key;

-- name: event_around
SELECT te.thread, te.ordinal FROM thread_events AS te JOIN events AS e ON e.id = te.event
WHERE e.key = :key ORDER BY te.thread LIMIT 1;

-- name: events_between
SELECT f.source, f.path, t.session, t.project, count(*) AS events,
       sum(e.kind = 'prompt' AND e.author = 'human') AS prompts, min(e.at) AS first_at, max(e.at) AS last_at
FROM events AS e JOIN thread_events AS te ON te.event = e.id JOIN threads AS t ON t.id = te.thread JOIN files AS f ON f.id = t.file
WHERE e.at >= :start AND e.at < :stop
GROUP BY t.id ORDER BY min(e.at), t.session;

-- name: event_minutes
SELECT DISTINCT substr(at, 1, 16) AS minute FROM events WHERE at IS NOT NULL ORDER BY minute;

-- name: undated_events
SELECT count(*) AS events FROM events WHERE at IS NULL;

-- name: extracted
UPDATE threads SET extracted = :extracted, seen = :seen WHERE id = :thread;

-- name: start_run
INSERT INTO runs (command, started_at) VALUES (:command, :started_at) RETURNING id;

-- name: end_run
UPDATE runs SET ended_at = :ended_at, report = :report WHERE id = :id;

-- name: runs
SELECT r.id, r.command, r.started_at, r.ended_at, r.report FROM runs AS r ORDER BY r.id DESC LIMIT :limit;

-- name: last_hash
SELECT id, hash FROM passes ORDER BY id DESC LIMIT 1;

-- name: add_pass
INSERT INTO passes (id, run, stage, subject, actor, recorded_at, undoes, redoes, note, hash)
VALUES (:id, :run, :stage, :subject, :actor, :recorded_at, :undoes, :redoes, :note, :hash);

-- name: add_operation
INSERT INTO operations (pass, memory, kind, body, commitment) VALUES (:pass_, :memory, :kind, :body, :commitment) RETURNING id;

-- name: add_span
INSERT INTO spans (pass, thread, start) VALUES (:pass_, :thread, :start);

-- name: add_candidate
INSERT INTO candidates (pass, thread, ordinal, id, profile, scope, verdict, body, commitment, live)
VALUES (:pass_, :thread, :ordinal, :id, :profile, :scope, :verdict, :body, :commitment, 1) RETURNING row;

-- name: seal
INSERT INTO sealed (owner, salt, words) VALUES (:owner, :salt, :words);

-- name: words
SELECT salt, words FROM sealed WHERE owner = :owner;

-- name: passes
SELECT id, run, stage, subject, actor, recorded_at, undoes, redoes, note, hash FROM passes ORDER BY id;

-- name: operations
SELECT o.id, o.pass, o.memory, o.kind, o.body, o.commitment, s.salt, s.words
FROM operations AS o LEFT JOIN sealed AS s ON s.owner = 'o' || o.id
ORDER BY o.id;

-- name: operations_of
SELECT o.id, o.pass, o.memory, o.kind, o.body, o.commitment, s.salt, s.words
FROM operations AS o LEFT JOIN sealed AS s ON s.owner = 'o' || o.id
WHERE o.pass = :pass
ORDER BY o.id;

-- name: pass_ids
SELECT id, undoes, redoes FROM passes WHERE undoes <> '[]' OR redoes <> '[]' ORDER BY id;

-- name: candidate_rows
SELECT c.row, c.pass, c.thread, c.ordinal, c.id, c.verdict, c.body, c.commitment, c.live, s.salt, s.words
FROM candidates AS c LEFT JOIN sealed AS s ON s.owner = 'c' || c.row
ORDER BY c.row;

-- name: spans
SELECT pass, thread, start FROM spans ORDER BY pass, thread;

-- name: live_candidates
SELECT c.row, c.pass, c.thread, c.ordinal, c.id, c.verdict, c.body, c.commitment, c.live, s.salt, s.words
FROM candidates AS c LEFT JOIN sealed AS s ON s.owner = 'c' || c.row
WHERE c.live AND c.profile = :profile AND c.scope = :scope
ORDER BY c.row;

-- name: span_candidates
SELECT c.row, c.pass, c.thread, c.ordinal, c.id, c.verdict, c.body, c.commitment, c.live, s.salt, s.words
FROM candidates AS c LEFT JOIN sealed AS s ON s.owner = 'c' || c.row
WHERE c.live AND c.thread = :thread AND c.ordinal >= :start
ORDER BY c.row;

-- name: refused_candidates
SELECT c.row, c.pass, c.thread, c.ordinal, c.id, c.verdict, c.body, c.commitment, c.live, s.salt, s.words
FROM candidates AS c LEFT JOIN sealed AS s ON s.owner = 'c' || c.row
WHERE c.live AND c.verdict LIKE '%"refused"%'
ORDER BY c.row;

-- name: retire_candidates
UPDATE candidates SET live = 0 WHERE thread = :thread AND ordinal >= :start AND live AND pass < :pass_;

-- name: relive_candidates
UPDATE candidates SET live = (
    pass NOT IN (SELECT value FROM json_each(:undone))
    AND NOT EXISTS (
        SELECT 1 FROM spans AS s
        WHERE s.thread = candidates.thread AND s.start <= candidates.ordinal AND s.pass > candidates.pass
          AND s.pass NOT IN (SELECT value FROM json_each(:undone))
    )
);

-- name: soil
INSERT OR IGNORE INTO dirty (profile, scope) VALUES (:profile, :scope);

-- name: dirty
SELECT profile, scope FROM dirty ORDER BY profile, scope;

-- name: clean
DELETE FROM dirty WHERE profile = :profile AND scope = :scope;

-- name: memory
SELECT rowid, body FROM memories WHERE id = :id;

-- name: memories
SELECT body FROM memories ORDER BY id;

-- name: memories_of
SELECT body FROM memories WHERE profile = :profile AND scope = :scope ORDER BY id;

-- name: memory_ids_like
SELECT id FROM memories WHERE id >= :prefix AND id < :prefix || 'g' ORDER BY id LIMIT 3;

-- name: put_memory
INSERT INTO memories (id, profile, category, scope, status, body) VALUES (:id, :profile, :category, :scope, :status, :body)
ON CONFLICT (id) DO UPDATE SET
    profile = excluded.profile, category = excluded.category, scope = excluded.scope, status = excluded.status, body = excluded.body
RETURNING rowid;

-- name: drop_memory
DELETE FROM memories WHERE id = :id;

-- name: index_memory
INSERT INTO memory_index (rowid, words) VALUES (:rowid, :words);

-- name: unindex_memory
INSERT INTO memory_index (memory_index, rowid, words) VALUES ('delete', :rowid, :words);

-- name: search_memories
SELECT m.body, bm25(memory_index) AS rank
FROM memory_index JOIN memories AS m ON m.rowid = memory_index.rowid
WHERE memory_index MATCH :query ORDER BY rank, m.id LIMIT :limit;

-- name: search_turns
SELECT e.key, e.block, e.place, bm25(turn_index) AS rank
FROM turn_index JOIN events AS e ON e.id = turn_index.rowid
WHERE turn_index MATCH :query ORDER BY rank, e.id LIMIT :limit;

-- name: output
SELECT intended, hash, lines FROM outputs WHERE path = :path ORDER BY intended;

-- name: put_output
INSERT INTO outputs (path, intended, hash, lines) VALUES (:path, :intended, :hash, :lines)
ON CONFLICT (path, intended) DO UPDATE SET hash = excluded.hash, lines = excluded.lines;

-- name: drop_output
DELETE FROM outputs WHERE path = :path;

-- name: drop_intended
DELETE FROM outputs WHERE path = :path AND intended;

-- name: outputs
SELECT DISTINCT path FROM outputs ORDER BY path;

-- name: forget_fingerprint
INSERT OR IGNORE INTO forgotten (fingerprint, pass) VALUES (:fingerprint, :pass_);

-- name: forgotten
SELECT fingerprint FROM forgotten;
