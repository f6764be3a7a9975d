-- The queries of kept.store.database. kept.store.reader reads this file; schema.sql explains the tables.
-- Lists are parameters in JSON: `IN (SELECT value FROM json_each(:ids))`.

-- part: threads
SELECT t.id, t.session, t.project, t.events, t.extracted, t.first_at, t.last_at, f.source, f.path
FROM threads AS t JOIN files AS f ON f.id = t.file

-- part: covers
te.event BETWEEN e.id / 512 * 512 AND e.id AND te.event + te.events > e.id

-- part: runs_of_events
(SELECT value AS id FROM json_each(:events)) AS e CROSS JOIN thread_events AS te ON {covers}

-- part: candidates
SELECT c.row, c.pass AS pass_id, c.thread, c.ordinal, c.id, c.profile, c.scope, c.verdict, c.body, c.commitment, c.live, s.salt, s.words
FROM candidates AS c LEFT JOIN sealed AS s ON s.owner = 'c' || c.row

-- part: operations
SELECT o.id, o.pass AS pass_id, o.memory, o.kind, o.body, o.commitment, s.salt, s.words
FROM operations AS o LEFT JOIN sealed AS s ON s.owner = 'o' || o.id

-- part: passes
SELECT p.id, p.run, p.stage, p.subject, p.actor, p.recorded_at, p.undoes, p.redoes, p.note, p.hash,
       (SELECT json_group_array(json_array(s.thread, s.start)) FROM spans AS s WHERE s.pass = p.id) AS covers
FROM passes AS p

-- part: mentioned
SELECT memory, id FROM operations
UNION SELECT json_extract(body, '$.by'), id FROM operations WHERE json_extract(body, '$.by') <> ''
UNION SELECT loser.value, o.id FROM operations AS o, json_each(o.body, '$.losers') AS loser

-- part: is_live
c.pass NOT IN (SELECT value FROM json_each(:undone))
AND NOT EXISTS (
    SELECT 1 FROM spans AS s JOIN passes AS p ON p.id = s.pass
    WHERE s.thread = c.thread AND s.start <= c.ordinal AND s.pass > c.pass AND s.pass NOT IN (SELECT value FROM json_each(:undone))
          AND p.stage = (SELECT stage FROM passes WHERE id = c.pass)
)

-- name: setting
-- The value of a setting, and whether its checksum is wrong.
SELECT value, checksum <> checksum(name, value) AS wrong FROM settings WHERE name = :name;

-- name: add_setting
-- Store a setting, unless it is there.
INSERT OR IGNORE INTO settings (name, value, checksum) VALUES (:name, :value, checksum(:name, :value));

-- name: file
-- How far a file was read, with the account of its records, and whether the row's checksum is wrong.
SELECT id, inode, offset, prefix, line, unpacked(carry) AS carry, account,
       checksum <> checksum(id, source, path, inode, offset, prefix, line, carry, account) AS wrong
FROM files WHERE source = :source AND path = :path;

-- name: stat_cache_entry
-- The source and stamp of a file.
SELECT source, stamp FROM looks WHERE path = :path;

-- name: stat_cache_below
-- The stat cache entries of the files directly in a folder.
-- `stop` is the folder and the character after a slash.
SELECT path, source, stamp FROM looks WHERE path >= :start AND path < :stop AND instr(substr(path, length(:start) + 1), '/') = 0;

-- name: put_stat_cache_entry
-- Store the source and stamp of a file.
INSERT INTO looks (path, source, stamp) VALUES (:path, :source, :stamp)
ON CONFLICT (path) DO UPDATE SET source = excluded.source, stamp = excluded.stamp;

-- name: drop_stat_cache_entry
-- Delete the stamp of a file.
DELETE FROM looks WHERE path = :path;

-- name: put_file
-- Store how far a file was read; returns its number. `sum_file` must follow.
INSERT INTO files (source, path, inode, offset, prefix, line, carry, account)
VALUES (:source, :path, :inode, :offset, :prefix, :line, packed(:carry), :account)
ON CONFLICT (source, path) DO UPDATE SET
    inode = excluded.inode, offset = excluded.offset, prefix = excluded.prefix,
    line = excluded.line, carry = excluded.carry, account = excluded.account
RETURNING id;

-- name: sum_file
-- Set the checksum of a file's row.
UPDATE files SET checksum = checksum(id, source, path, inode, offset, prefix, line, carry, account) WHERE id = :id;

-- name: add_passage_hash
-- Store the hash of a long passage of an event.
INSERT OR IGNORE INTO passage_hashes (hash, event, session) VALUES (:hash, :event, :session);

-- name: drop_passage_hashes
-- Delete the passage hashes of an event.
DELETE FROM passage_hashes WHERE event = :event;

-- name: clear_passage_hashes
-- Delete all passage hashes.
DELETE FROM passage_hashes;

-- name: all_passage_hashes
-- All passage hashes.
SELECT hash, event, session FROM passage_hashes;

-- name: user_prompts
-- The numbers of all prompts of the person.
SELECT id FROM events WHERE voice = 'ph' ORDER BY id;

-- name: latest_prompts
-- The numbers of at most `most` prompts of the person among the latest 20,000 events.
SELECT id FROM events WHERE voice = 'ph' AND id > (SELECT max(id) FROM events) - 20000 ORDER BY id DESC LIMIT :most;

-- name: prompts_after
-- The person's prompts after an event that no rewind replaced, each with the first thread that has it and its ordinal there.
SELECT e.id, min(t.thread) AS thread, t.ordinal + e.id - t.event AS ordinal
FROM events AS e JOIN thread_events AS t ON t.event BETWEEN e.id / 512 * 512 AND e.id AND t.event + t.events > e.id
WHERE e.voice = 'ph' AND e.id > :event AND NOT t.abandoned GROUP BY e.id;

-- name: passages_elsewhere
-- The passages of some events that other sessions contain too, each with the time of both events in milliseconds.
SELECT p.event, p.hash, e.at, q.event AS other, o.at AS other_at
FROM passage_hashes AS p JOIN passage_hashes AS q ON q.hash = p.hash AND q.session <> p.session
JOIN events AS e ON e.id = p.event JOIN events AS o ON o.id = q.event
WHERE p.event IN (SELECT value FROM json_each(:events));

-- name: all_passages_elsewhere
-- The passages of all events that other sessions contain too.
SELECT p.event, p.hash, e.at, q.event AS other, o.at AS other_at
FROM passage_hashes AS p JOIN passage_hashes AS q ON q.hash = p.hash AND q.session <> p.session
JOIN events AS e ON e.id = p.event JOIN events AS o ON o.id = q.event;

-- name: put_event
-- Store the row of an event.
INSERT INTO events (id, at, voice) VALUES (:id, :at, :voice)
ON CONFLICT (id) DO UPDATE SET at = excluded.at, voice = excluded.voice;

-- name: add_mark
-- Store a mark of an event.
INSERT OR IGNORE INTO marks (mark, event) VALUES (:mark, :event);

-- name: drop_mark
-- Delete a mark of an event.
DELETE FROM marks WHERE mark = :mark AND event = :event;

-- name: events_with_marks
-- The events with one of some marks.
SELECT mark, event FROM marks WHERE mark IN (SELECT value FROM json_each(:marks)) ORDER BY event;

-- name: clear_marks
-- Delete all marks.
DELETE FROM marks;

-- name: clear_events
-- Delete all rows of events.
DELETE FROM events;

-- name: block_of
-- The number of the block that holds an event.
SELECT coalesce(max(id), 0) AS id FROM blocks WHERE id <= :event;

-- name: requeue_threads
-- Queue the threads with some events for extraction, from the first of these events on, and compute their times again; returns them.
UPDATE threads SET
    seen = 0,
    extracted = min(extracted, (SELECT min(te.ordinal + e.id - te.event) FROM {runs_of_events} WHERE te.thread = threads.id)),
    (first_at, last_at) = (
        SELECT strftime('%Y-%m-%dT%H:%M:%fZ', min(e.at) / 1000.0, 'unixepoch'), strftime('%Y-%m-%dT%H:%M:%fZ', max(e.at) / 1000.0, 'unixepoch')
        FROM thread_events AS te CROSS JOIN events AS e ON {covers} WHERE te.thread = threads.id
    )
WHERE id IN (SELECT te.thread FROM {runs_of_events})
RETURNING id;

-- name: sum_threads
-- Set the checksums of some threads.
UPDATE threads SET checksum = checksum(id, file, session, project, events, extracted, seen, first_at, last_at, members)
WHERE id IN (SELECT value FROM json_each(:ids));

-- name: sum_members
-- Compute the sum of a thread's events again.
UPDATE threads SET members = (
    SELECT coalesce(sum(checksum(te.ordinal, te.event, te.abandoned, te.events)), 0) FROM thread_events AS te WHERE te.thread = threads.id
)
WHERE id = :thread;

-- name: project
-- The project of a directory.
SELECT directory, identity, name, scope FROM projects WHERE directory = :directory;

-- name: projects
-- The projects of all directories.
SELECT directory, identity, name, scope FROM projects ORDER BY directory;

-- name: put_project
-- Store the project of a directory.
INSERT INTO projects (directory, identity, name, scope, checksum)
VALUES (:directory, :identity, :name, :scope, checksum(:directory, :identity, :name, :scope))
ON CONFLICT (directory) DO UPDATE SET
    identity = excluded.identity, name = excluded.name, scope = excluded.scope, checksum = excluded.checksum;

-- name: opted_out
-- The sessions that opted out, each with the file that says so.
SELECT session, path FROM opted_out ORDER BY session;

-- name: opt_out
-- Record that a session opted out.
INSERT OR IGNORE INTO opted_out (session, path, checksum) VALUES (:session, :path, checksum(:session, :path));

-- name: events_of_session_alone
-- The events of a session that are in no session that may be remembered.
SELECT DISTINCT e.id
FROM threads AS t JOIN thread_events AS te ON te.thread = t.id CROSS JOIN events AS e ON {covers}
WHERE t.session = :session AND NOT EXISTS (
    SELECT 1 FROM thread_events AS te JOIN threads AS o ON o.id = te.thread
    WHERE {covers} AND o.session NOT IN (SELECT session FROM opted_out)
)
ORDER BY e.id;

-- name: add_block
-- Store a new block.
INSERT INTO blocks (id, body, hash) VALUES (:id, :body, :hash);

-- name: next_event
-- The number of the next event.
SELECT coalesce(max(id), 0) + 1 AS id FROM events;

-- name: index_turn
-- Add a prompt to its full-text index.
INSERT INTO turn_index (rowid, words) VALUES (:id, :words);

-- name: unindex_turn
-- Delete a prompt from its full-text index; the words must be those that were added.
INSERT INTO turn_index (turn_index, rowid, words) VALUES ('delete', :id, :words);

-- name: index_reply
-- Add a reply to its full-text index.
INSERT INTO reply_index (rowid, words) VALUES (:id, :words);

-- name: unindex_reply
-- Delete a reply from its full-text index; the words must be those that were added.
INSERT INTO reply_index (reply_index, rowid, words) VALUES ('delete', :id, :words);

-- name: thread
-- The thread of a session in a file.
SELECT id, events, first_at, last_at, members, project FROM threads WHERE file = :file AND session = :session;

-- name: add_thread
-- Create a thread without events; returns its number.
INSERT INTO threads (file, session, project, events, extracted, seen) VALUES (:file, :session, :project, 0, 0, 0) RETURNING id;

-- name: move_thread
-- Move a session's thread to the file with its continuation.
-- To a file with the same name in another folder that has no thread of the session yet.
UPDATE threads SET file = :file WHERE id = (
    SELECT t.id FROM files AS n JOIN thread_events AS te JOIN threads AS t ON t.id = te.thread JOIN files AS f ON f.id = t.file
    WHERE n.id = :file AND te.event BETWEEN :event / 512 * 512 AND :event AND te.event + te.events > :event AND t.session = :session AND f.source = n.source
          AND substr(f.path, length(rtrim(f.path, replace(f.path, '/', '')))) = substr(n.path, length(rtrim(n.path, replace(n.path, '/', ''))))
    ORDER BY t.id LIMIT 1
) AND NOT EXISTS (SELECT 1 FROM threads WHERE file = :file AND session = :session);

-- name: name_project
-- Set the project of a thread that has none. It is extracted again, because what it tells belongs to that project.
UPDATE threads SET project = :project, extracted = 0, seen = 0 WHERE id = :thread AND project = '';

-- name: directories
-- The working directories of all threads; for threads without one, the paths of their files.
SELECT DISTINCT '' AS project, f.path AS path FROM threads AS t JOIN files AS f ON f.id = t.file WHERE t.project = ''
UNION ALL SELECT DISTINCT project, '' FROM threads WHERE project > '' ORDER BY project, path;

-- name: in_thread
-- A row if a thread contains an event.
SELECT 1 FROM thread_events WHERE event BETWEEN :event / 512 * 512 AND :event AND event + events > :event AND thread = :thread;

-- name: add_to_thread
-- Append a run of events to a thread.
INSERT INTO thread_events (thread, ordinal, event, abandoned, events) VALUES (:thread, :ordinal, :event, :abandoned, :events);

-- name: grow_thread
-- Set a thread's number of events, its times and the sum of its events.
UPDATE threads SET events = :events, first_at = :first_at, last_at = :last_at, members = :members WHERE id = :id;

-- name: pending_threads
-- The threads with events that were not processed yet, by their first event.
{threads}
WHERE t.events > t.seen
ORDER BY t.first_at, f.path, t.session;

-- name: thread_by_id
-- A thread by its number.
{threads}
WHERE t.id = :id;

-- name: threads_ended
-- The threads of some projects that ended in a span of time, latest first.
{threads}
WHERE t.project IN (SELECT value FROM json_each(:projects)) AND t.last_at >= :start AND t.last_at < :stop
ORDER BY t.last_at DESC, f.path DESC, t.session DESC LIMIT :limit;

-- name: threads_begun
-- The threads of some projects that began in a span of time, by their first event.
{threads}
WHERE t.project IN (SELECT value FROM json_each(:projects)) AND t.first_at > :start AND t.first_at <= :stop
ORDER BY t.first_at, f.path, t.session;

-- name: all_threads
-- All threads, by their first event.
{threads}
ORDER BY t.first_at, f.path, t.session;

-- name: threads_of_file
-- The threads of a file, by their first event.
{threads} WHERE f.path = :path
ORDER BY t.first_at, t.session;

-- name: threads_pending_llm
-- The threads with events that no model has read, and how far their chunks are closed; a damaged progress row does not count.
SELECT t.id, t.session, t.project, t.events, t.extracted, t.first_at, t.last_at, f.source, f.path, coalesce(h.closed, 0) AS closed
FROM threads AS t JOIN files AS f ON f.id = t.file
     LEFT JOIN hearings AS h ON h.thread = t.id AND h.checksum = checksum(h.thread, h.closed, h.seen)
WHERE t.events > coalesce(h.seen, 0)
ORDER BY t.first_at, f.path, t.session;

-- name: save_llm_progress
-- Store how far a model has read a thread.
INSERT INTO hearings (thread, closed, seen, checksum) VALUES (:thread, :closed, :seen, checksum(:thread, :closed, :seen))
ON CONFLICT (thread) DO UPDATE SET closed = excluded.closed, seen = excluded.seen, checksum = excluded.checksum;

-- name: reset_llm_progress
-- Let a model read the threads with some events again from the start.
UPDATE hearings SET closed = 0, seen = 0, checksum = checksum(thread, 0, 0)
WHERE thread IN (SELECT te.thread FROM {runs_of_events});

-- name: reset_thread_llm_progress
-- Let a model read a thread again from the start, if it has read the event with this ordinal.
UPDATE hearings SET closed = 0, seen = 0, checksum = checksum(thread, 0, 0) WHERE thread = :thread AND seen > :ordinal;

-- name: clear_thread
-- Take all events out of a thread.
DELETE FROM thread_events WHERE thread = :thread;

-- name: thread_slice
-- The events of a thread in a span of ordinals.
SELECT event + max(:start - ordinal, 0) AS event, min(ordinal + events, :stop) - max(ordinal, :start) AS events, abandoned
FROM thread_events
WHERE thread = :thread AND ordinal > :start - 512 AND ordinal < :stop AND ordinal + events > :start
ORDER BY ordinal;

-- name: first_thread_of_event
-- The first thread with an event, and the event's ordinal there.
SELECT thread, ordinal + :event - event AS ordinal FROM thread_events
WHERE event BETWEEN :event / 512 * 512 AND :event AND event + events > :event ORDER BY thread LIMIT 1;

-- name: block
-- The bytes of a block and their hash.
SELECT body, hash FROM blocks WHERE id = :id;

-- name: events_between
-- The events of each session in a span of time, counted; an event counts in the first thread with it.
SELECT f.source, f.path, t.session, t.project, count(*) AS events, sum(e.voice = 'ph') AS prompts, min(e.at) AS first_at, max(e.at) AS last_at
FROM threads AS t JOIN files AS f ON f.id = t.file JOIN thread_events AS te ON te.thread = t.id CROSS JOIN events AS e ON {covers}
WHERE t.first_at < :before AND t.last_at >= :since AND e.at >= :start AND e.at < :stop
      AND t.id = (SELECT min(te.thread) FROM thread_events AS te WHERE {covers})
GROUP BY t.id ORDER BY min(e.at), t.session;

-- name: event_minutes
-- The minutes with an event, since 1970.
SELECT DISTINCT at / 60000 AS minute FROM events WHERE at IS NOT NULL ORDER BY minute;

-- name: count_undated_events
-- The number of events without a time.
SELECT count(*) AS events FROM events WHERE at IS NULL;

-- name: save_extraction_progress
-- Store how far a thread was extracted. `sum_threads` must follow.
UPDATE threads SET extracted = :extracted, seen = :seen WHERE id = :thread;

-- name: start_run
-- Begin a run; returns its number. `sum_run` must follow.
INSERT INTO runs (command, started_at) VALUES (:command, :started_at) RETURNING id;

-- name: sum_run
-- Set the checksum of a run.
UPDATE runs SET checksum = checksum(id, command, started_at, ended_at, report) WHERE id = :id;

-- name: end_run
-- Store the end and the report of a run.
UPDATE runs SET ended_at = :ended_at, report = :report, checksum = checksum(id, command, started_at, :ended_at, :report) WHERE id = :id;

-- name: put_report
-- Replace the report of a run.
UPDATE runs SET report = :report, checksum = checksum(id, command, started_at, ended_at, :report) WHERE id = :id;

-- name: runs
-- The last runs, of one command if it is given.
SELECT r.id, r.command, r.started_at, r.ended_at, r.report FROM runs AS r WHERE :command IN ('', r.command) ORDER BY r.id DESC LIMIT :limit;

-- name: supersede_candidates
-- End the live candidates from an ordinal of a thread on that earlier passes of the same stage proposed.
UPDATE candidates SET live = 0
WHERE thread = :thread AND ordinal >= :start AND live AND pass < :pass_
    AND (SELECT stage FROM passes WHERE id = candidates.pass) = :stage;

-- name: dirty_groups
-- The groups that wait for curation.
SELECT profile, scope FROM dirty ORDER BY profile, scope;

-- name: unmark_group_dirty
-- Take a group off the queue for curation.
DELETE FROM dirty WHERE profile = :profile AND scope = :scope;

-- name: last_pass
-- The last pass.
{passes}
ORDER BY p.id DESC LIMIT 1;

-- name: passes
-- All passes.
{passes}
ORDER BY p.id;

-- name: passes_of
-- Some passes.
{passes}
WHERE p.id IN (SELECT value FROM json_each(:ids))
ORDER BY p.id;

-- name: undo_redo_passes
-- The passes that undo or redo others.
{passes}
WHERE p.undoes <> '[]' OR p.redoes <> '[]'
ORDER BY p.id;

-- name: add_pass
-- Append a pass.
INSERT INTO passes (id, run, stage, subject, actor, recorded_at, undoes, redoes, note, hash)
VALUES (:id, :run, :stage, :subject, :actor, :recorded_at, :undoes, :redoes, :note, :hash);

-- name: last_operation
-- The number of the last operation.
SELECT coalesce(max(id), 0) AS number FROM operations;

-- name: add_operation
-- Append an operation.
INSERT INTO operations (id, pass, memory, kind, body, commitment)
VALUES (:id, :pass_id, :memory, :kind, :body, :commitment);

-- name: add_mention
-- Record that an operation affects a memory.
INSERT INTO mentions (memory, operation) VALUES (:memory, :operation);

-- name: operations
-- All operations.
{operations}
ORDER BY o.pass, o.id;

-- name: operations_on
-- The operations that affect a memory.
{operations}
JOIN mentions AS m ON m.operation = o.id
WHERE m.memory = :memory
ORDER BY o.id;

-- name: related_operations
-- The operations on the memories that some passes affect, and on all memories linked to those, transitively.
WITH RECURSIVE tied (memory) AS (
    SELECT m.memory FROM mentions AS m JOIN operations AS o ON o.id = m.operation
    WHERE o.pass IN (SELECT value FROM json_each(:passes))
    UNION
    SELECT other.memory FROM tied
    JOIN mentions AS mine ON mine.memory = tied.memory JOIN mentions AS other ON other.operation = mine.operation
)
{operations}
WHERE o.id IN (SELECT m.operation FROM mentions AS m JOIN tied ON tied.memory = m.memory)
ORDER BY o.id;

-- name: operations_on_forgotten
-- The operations on forgotten memories.
{operations}
WHERE o.id IN (
    SELECT m.operation FROM mentions AS m WHERE m.memory IN (SELECT f.memory FROM operations AS f WHERE f.kind = 'forget')
)
ORDER BY o.id;

-- name: operations_without_words
-- The operations of some passes, without their words.
SELECT o.id, o.pass AS pass_id, o.memory, o.kind, o.body, o.commitment, NULL AS salt, NULL AS words
FROM operations AS o WHERE o.pass IN (SELECT value FROM json_each(:undone));

-- name: candidates_in_effect
-- Those of some candidates that an operation names whose pass is not undone.
SELECT DISTINCT c.value AS id
FROM operations AS o,
     json_each(coalesce(json_extract(o.body, '$.value.candidates'), json_extract(o.body, '$.facts.candidates'))) AS c
WHERE o.pass NOT IN (SELECT value FROM json_each(:undone)) AND c.value IN (SELECT value FROM json_each(:candidates));

-- name: candidates_of_other_models
-- Those of some candidates that a model proposed after the last undo, and no pass of that model before it.
-- Candidates that a model proposed after the last undo and that no pass of the same model proposed before it; a pass's note begins
-- with the model's name.
SELECT DISTINCT c.id
FROM candidates AS c JOIN passes AS p ON p.id = c.pass
WHERE c.live AND c.pass > :undo AND p.note <> '' AND c.id IN (SELECT value FROM json_each(:candidates)) AND NOT EXISTS (
    SELECT 1 FROM candidates AS e JOIN passes AS q ON q.id = e.pass
    WHERE e.id = c.id AND e.pass < :undo
      AND substr(q.note, 1, instr(q.note || ',', ',')) = substr(p.note, 1, instr(p.note || ',', ','))
);

-- name: last_candidate
-- The number of the last candidate.
SELECT coalesce(max(row), 0) AS number FROM candidates;

-- name: add_candidate
-- Append a candidate.
INSERT INTO candidates (row, pass, thread, ordinal, id, profile, scope, verdict, body, commitment, live, checksum)
VALUES (
    :row, :pass_id, :thread, :ordinal, :id, :profile, :scope, :verdict, :body, :commitment, :live,
    checksum(:row, :pass_id, :thread, :ordinal, :id, :profile, :scope, :verdict)
);

-- name: candidates
-- All candidates.
{candidates}
ORDER BY c.pass, c.row;

-- name: live_candidates
-- The live candidates of a group.
{candidates}
WHERE c.live AND c.profile = :profile AND c.scope = :scope
ORDER BY c.row;

-- name: span_candidates
-- The live candidates of one stage in a span of a thread.
{candidates}
WHERE c.live AND c.thread = :thread AND c.ordinal >= :start AND (:stop IS NULL OR c.ordinal < :stop)
      AND (SELECT stage FROM passes WHERE id = c.pass) = :stage
ORDER BY c.row;

-- name: refused_candidates
-- The live candidates whose verdict matches a pattern.
{candidates}
WHERE c.live AND c.verdict LIKE :verdict
ORDER BY c.row;

-- name: candidates_between
-- The candidates in a span of numbers.
{candidates}
WHERE c.row BETWEEN :first AND :last
ORDER BY c.row;

-- name: mark_span_dirty
-- Queue the groups with live candidates from an ordinal of a thread on for curation.
INSERT OR IGNORE INTO dirty (profile, scope, checksum)
SELECT DISTINCT profile, scope, checksum(profile, scope) FROM candidates WHERE live AND thread = :thread AND ordinal >= :start;

-- name: mark_group_dirty
-- Queue a group for curation.
INSERT OR IGNORE INTO dirty (profile, scope, checksum) VALUES (:profile, :scope, checksum(:profile, :scope));

-- name: recompute_live
-- Compute again which candidates are live, in the threads of some passes.
UPDATE candidates AS c SET live = ({is_live})
WHERE thread IN (SELECT s.thread FROM spans AS s WHERE s.pass IN (SELECT value FROM json_each(:switched)));

-- name: add_span
-- Record the part of a thread that a pass covers.
INSERT INTO spans (pass, thread, start) VALUES (:pass_id, :thread, :start);

-- name: seal
-- Store the words of an operation or candidate.
INSERT INTO sealed (owner, salt, words) VALUES (:owner, :salt, :words);

-- name: memory
-- A memory.
SELECT id, body, checksum FROM memories WHERE id = :id;

-- name: memories_with
-- Some memories, with their row numbers.
SELECT rowid, id, body, checksum FROM memories WHERE id IN (SELECT value FROM json_each(:ids));

-- name: memories_between
-- The memories first seen before `stop` and last seen at `start` or later.
SELECT id, body, checksum FROM memories
WHERE json_extract(body, '$.first_seen') < :stop AND json_extract(body, '$.last_seen') >= :start
ORDER BY id;

-- name: memory_ids
-- The ids of all memories.
SELECT id FROM memories;

-- name: count_memories
-- The number of memories by state at a moment, profile and category.
SELECT CASE WHEN status IN ('active', 'held') AND json_extract(body, '$.valid_until') <= :moment THEN 'expired'
            WHEN status = 'retired' AND json_extract(body, '$.content') = '' THEN 'forgotten'
            WHEN status = 'retired' AND json_extract(body, '$.reason') = :was_so THEN 'was so' ELSE status END AS state,
       profile, category, count(*) AS memories
FROM memories GROUP BY state, profile, category;

-- name: last_memory
-- The last row number of a memory.
SELECT coalesce(max(rowid), 0) AS number FROM memories;

-- name: put_memory
-- Store a memory.
INSERT INTO memories (rowid, id, profile, category, scope, status, body, checksum)
VALUES (:rowid, :id, :profile, :category, :scope, :status, :body, :checksum)
ON CONFLICT (rowid) DO UPDATE SET
    profile = excluded.profile, category = excluded.category, scope = excluded.scope, status = excluded.status, body = excluded.body,
    checksum = excluded.checksum;

-- name: drop_memory
-- Delete a memory.
DELETE FROM memories WHERE rowid = :rowid;

-- name: index_memory
-- Add a memory to the full-text index.
INSERT INTO memory_index (rowid, words) VALUES (:rowid, :words);

-- name: unindex_memory
-- Delete a memory from the full-text index; the words must be those that were added.
INSERT INTO memory_index (memory_index, rowid, words) VALUES ('delete', :rowid, :words);

-- name: memories
-- All memories.
SELECT id, body, checksum FROM memories ORDER BY id;

-- name: outdated_memories
-- The memories with a retired trigger, and those with a verbatim trigger whose content is in none of their quotes.
SELECT id, body, checksum FROM memories
WHERE json_extract(body, '$.trigger') IN (SELECT value FROM json_each(:retired))
   OR json_extract(body, '$.trigger') IN (SELECT value FROM json_each(:verbatim))
  AND json_array_length(body, '$.evidence')
  AND NOT EXISTS (
      SELECT 1 FROM json_each(body, '$.evidence') WHERE instr(json_extract(value, '$.quote'), json_extract(body, '$.content'))
  )
ORDER BY id;

-- name: memories_held
-- The held memories.
SELECT id, body, checksum FROM memories WHERE status = 'held' ORDER BY id;

-- name: memory_outlines
-- The outlines of all memories, or of those of a scope, with their status at a moment.
SELECT id, profile, category, scope, CASE
           WHEN status IN ('active', 'held') AND json_extract(body, '$.valid_until') <= :moment THEN 'expired' ELSE status
       END AS status,
       json_extract(body, '$.origin') AS origin, coalesce(json_extract(body, '$.last_seen'), '') AS last_seen,
       instr(body, '"pinned":true') > 0 AS pinned, coalesce(json_extract(body, '$.first_seen'), '') AS first_seen
FROM memories WHERE :scope IS NULL OR rowid IN (SELECT rowid FROM memories WHERE scope = :scope) ORDER BY id;

-- name: memory_scopes
-- The scopes that have a memory.
SELECT DISTINCT scope FROM memories;

-- name: memories_of
-- The memories of a group.
SELECT id, body, checksum FROM memories WHERE profile = :profile AND scope = :scope ORDER BY id;

-- name: memory_ids_like
-- At most nine ids that begin with a prefix of hex digits.
SELECT id FROM memories WHERE id >= :prefix AND id < :prefix || 'g' ORDER BY id LIMIT 9;

-- name: search_memories
-- The memories with any of some words, best first.
SELECT m.id, m.body, m.checksum, bm25(memory_index) AS rank
FROM memory_index JOIN memories AS m ON m.rowid = memory_index.rowid
WHERE memory_index MATCH :query ORDER BY rank, m.id LIMIT :limit;

-- name: mentions
-- The last time that some words were said, by project and file.
SELECT t.project, f.path, max(e.at) AS at
FROM (
    SELECT rowid AS id FROM turn_index WHERE turn_index MATCH :query
    UNION ALL SELECT rowid FROM reply_index WHERE reply_index MATCH :query
) AS found
JOIN events AS e ON e.id = found.id
CROSS JOIN thread_events AS te ON {covers}
JOIN threads AS t ON t.id = te.thread
JOIN files AS f ON f.id = t.file
WHERE e.at > :since
GROUP BY t.project, f.path ORDER BY t.project, f.path;

-- name: output
-- What was written to a file, and what was to be written; each with whether the row's checksum is wrong.
SELECT intended, hash, lines, checksum <> checksum(path, intended, hash, lines) AS wrong FROM outputs WHERE path = :path ORDER BY intended;

-- name: put_output
-- Store what was written to a file, or is to be written.
INSERT INTO outputs (path, intended, hash, lines, checksum)
VALUES (:path, :intended, :hash, :lines, checksum(:path, :intended, :hash, :lines))
ON CONFLICT (path, intended) DO UPDATE SET hash = excluded.hash, lines = excluded.lines, checksum = excluded.checksum;

-- name: drop_output
-- Delete what was written to a file.
DELETE FROM outputs WHERE path = :path;

-- name: drop_intended
-- Delete what was to be written to a file.
DELETE FROM outputs WHERE path = :path AND intended;

-- name: outputs
-- The paths of the files written.
SELECT DISTINCT path FROM outputs ORDER BY path;

-- name: add_fingerprint
-- Store the fingerprint of a forgotten statement.
INSERT OR IGNORE INTO forgotten (fingerprint, pass) VALUES (:fingerprint, :pass_id);

-- name: fingerprints
-- The fingerprints of forgotten statements, each with the pass that forgot it.
SELECT fingerprint, pass AS pass_id FROM forgotten ORDER BY fingerprint;

-- name: unseal_operations
-- Erase the words of all operations on a memory.
DELETE FROM sealed WHERE owner IN (
    SELECT 'o' || o.id FROM mentions AS m JOIN operations AS o ON o.id = m.operation WHERE m.memory = :memory AND o.memory = :memory
);

-- name: unseal_candidates
-- Erase the words of some candidates.
DELETE FROM sealed WHERE owner IN (SELECT 'c' || row FROM candidates WHERE id IN (SELECT value FROM json_each(:ids)));

-- name: amend_pass
-- Replace the texts and the hash of a pass.
UPDATE passes SET subject = :subject, note = :note, hash = :hash WHERE id = :id;

-- name: amend_operation
-- Replace the body and commitment of an operation.
UPDATE operations SET body = :body, commitment = :commitment WHERE id = :id;

-- name: amend_candidate
-- Replace the body, commitment and verdict of a candidate.
UPDATE candidates SET body = :body, commitment = :commitment, verdict = :verdict,
    checksum = checksum(row, pass, thread, ordinal, id, profile, scope, :verdict)
WHERE row = :row;

-- name: amend_words
-- Replace the words of an operation or candidate.
UPDATE sealed SET words = :words WHERE owner = :owner;

-- name: memory_columns
-- The columns of all memories that repeat a part of the body.
SELECT id, profile, category, scope, status FROM memories ORDER BY id;

-- name: wrong_mentions
-- The mentions that no operation explains, and those that are missing.
WITH expected (memory, operation) AS (
    {mentioned}
)
SELECT memory, operation FROM (SELECT memory, operation FROM mentions EXCEPT SELECT memory, operation FROM expected)
UNION ALL
SELECT memory, operation FROM (SELECT memory, operation FROM expected EXCEPT SELECT memory, operation FROM mentions);

-- name: all_runs
-- All runs in order.
SELECT id, command, started_at, ended_at, report FROM runs ORDER BY id;

-- name: add_run
-- Store a run of an export.
INSERT INTO runs (id, command, started_at, ended_at, report, checksum)
VALUES (:id, :command, :started_at, :ended_at, :report, checksum(:id, :command, :started_at, :ended_at, :report));

-- name: drop_memories
-- Delete all memories.
DELETE FROM memories;

-- name: clear_memory_index
-- Empty the full-text index of memories.
INSERT INTO memory_index (memory_index) VALUES ('delete-all');

-- name: drop_mentions
-- Delete all mentions.
DELETE FROM mentions;

-- name: put_block
-- Replace the bytes of a block.
UPDATE blocks SET body = :body, hash = :hash WHERE id = :id;

-- name: blocks
-- All blocks.
SELECT id, body, hash FROM blocks ORDER BY id;

-- name: block_numbers
-- The numbers of all blocks.
SELECT id FROM blocks ORDER BY id;

-- name: event_rows
-- The rows of events in a span of numbers.
SELECT id, at, voice FROM events WHERE id >= :first AND id < :stop ORDER BY id;

-- name: marks_missing
-- Those of some pairs (mark, event) that are not stored.
SELECT e.value ->> 1 AS event FROM json_each(:marks) AS e
WHERE NOT EXISTS (SELECT 1 FROM marks AS m WHERE m.mark = e.value ->> 0 AND m.event = e.value ->> 1);

-- name: count_marks
-- The number of marks.
SELECT count(*) AS count FROM marks;

-- name: archive_gaps
-- The tables whose row numbers have gaps, with the last number and the number of rows.
SELECT what, most, found FROM (
    SELECT 'events' AS what, max(coalesce(max(id), 0), (SELECT coalesce(max(event + events - 1), 0) FROM thread_events)) AS most, count(*) AS found FROM events
    UNION ALL SELECT 'threads', coalesce(max(id), 0), count(*) FROM threads
    UNION ALL SELECT 'files', coalesce(max(id), 0), count(*) FROM files
    UNION ALL SELECT 'runs', coalesce(max(id), 0), count(*) FROM runs
    UNION ALL SELECT 'places in thread ' || thread, max(ordinal + events), sum(events) FROM thread_events GROUP BY thread
)
WHERE most <> found;

-- name: wrong_threads
-- The threads whose count or sum of events differs from their events.
SELECT t.id, t.events, coalesce(sum(te.events), 0) AS found,
       t.members <> coalesce(sum(checksum(te.ordinal, te.event, te.abandoned, te.events)) FILTER (WHERE te.event IS NOT NULL), 0) AS wrong
FROM threads AS t LEFT JOIN thread_events AS te ON te.thread = t.id
GROUP BY t.id
HAVING t.events <> found OR wrong;

-- name: sampled_events
-- About `most` prompts and replies, spread evenly over the archive.
SELECT id FROM events WHERE voice IN ('ph', 'pa', 'rh', 'ra') AND id % (SELECT max(1, count(*) / :most) FROM events) = 0
ORDER BY id;

-- name: find_turn
-- A row if the full-text index finds a prompt by a query.
SELECT 1 FROM turn_index WHERE turn_index MATCH :query AND rowid = :id;

-- name: find_reply
-- A row if the full-text index finds a reply by a query.
SELECT 1 FROM reply_index WHERE reply_index MATCH :query AND rowid = :id;

-- name: files
-- How far each file was read, with the account of its records.
SELECT source, path, inode, offset, prefix, line, unpacked(carry) AS carry, account FROM files ORDER BY source, path;

-- name: file_ends
-- Where the files of a source end, as far as they were seen: what was read and an unfinished last record.
SELECT path, offset + coalesce(json_extract(account, '$.pending'), 0) AS stop FROM files WHERE source = :source;

-- name: count_archive
-- The number of files, of threads, and of the threads that were not extracted, or that no model has read, to their end.
SELECT (SELECT count(*) FROM files) AS files,
       count(*) AS threads,
       coalesce(sum(t.events > t.seen), 0) AS pending,
       coalesce(sum(t.events > coalesce(h.seen, 0)), 0) AS pending_llm
FROM threads AS t LEFT JOIN hearings AS h ON h.thread = t.id AND h.checksum = checksum(h.thread, h.closed, h.seen);

-- name: put_carry
-- Replace the reader's carried state of a file.
UPDATE files SET carry = packed(:carry), checksum = checksum(id, source, path, inode, offset, prefix, line, packed(:carry), account)
WHERE source = :source AND path = :path;

-- name: thread_rows
-- All threads with their progress, for an export.
SELECT t.id, f.source, f.path, t.session, t.project, t.extracted, t.seen, coalesce(h.closed, 0) AS closed, coalesce(h.seen, 0) AS heard
FROM threads AS t JOIN files AS f ON f.id = t.file LEFT JOIN hearings AS h ON h.thread = t.id ORDER BY t.id;

-- name: thread_events
-- The events of a thread.
SELECT event, events, abandoned FROM thread_events WHERE thread = :thread ORDER BY ordinal;

-- name: put_thread
-- Store a thread of an export.
INSERT INTO threads (id, file, session, project, events, extracted, seen, first_at, last_at)
VALUES (:id, :file, :session, :project, :events, :extracted, :seen, :first_at, :last_at);

-- name: put_setting
-- Store a setting.
INSERT INTO settings (name, value, checksum) VALUES (:name, :value, checksum(:name, :value))
ON CONFLICT (name) DO UPDATE SET value = excluded.value, checksum = excluded.checksum;

-- name: drop_setting
-- Delete a setting.
DELETE FROM settings WHERE name = :name;

-- name: is_empty
-- Whether the store has no pass, no file and no output.
SELECT NOT EXISTS (SELECT 1 FROM passes) AND NOT EXISTS (SELECT 1 FROM files) AND NOT EXISTS (SELECT 1 FROM outputs) AS empty;

-- name: imported_memories
-- The memories that were added with a trigger.
SELECT memory FROM operations WHERE kind = 'add' AND json_extract(body, '$.value.trigger') = :trigger;

-- name: operations_of
-- The operations of some passes.
{operations}
WHERE o.pass IN (SELECT value FROM json_each(:ids))
ORDER BY o.pass, o.id;

-- name: clear_turn_index
-- Empty the full-text index of prompts.
INSERT INTO turn_index (turn_index) VALUES ('delete-all');

-- name: clear_reply_index
-- Empty the full-text index of replies.
INSERT INTO reply_index (reply_index) VALUES ('delete-all');

-- name: turns_with_words
-- The prompts and replies that at least `least` of some full-text queries find.
SELECT found.id
FROM (
    SELECT word.key AS word, turn_index.rowid AS id
    FROM json_each(:words) AS word CROSS JOIN turn_index ON turn_index MATCH word.value
    UNION ALL
    SELECT word.key, reply_index.rowid
    FROM json_each(:words) AS word CROSS JOIN reply_index ON reply_index MATCH word.value
) AS found
GROUP BY found.id
HAVING count(*) >= :least
ORDER BY found.id;

-- name: fill_mentions
-- Store the mentions that follow from the operations.
INSERT OR IGNORE INTO mentions (memory, operation)
{mentioned};

-- name: wrong_checksums
-- The rows whose checksum differs from their columns.
SELECT 'settings' AS place, name AS name FROM settings WHERE checksum <> checksum(name, value)
UNION ALL SELECT 'files', path FROM files WHERE checksum <> checksum(id, source, path, inode, offset, prefix, line, carry, account)
UNION ALL SELECT 'threads', id FROM threads WHERE checksum <> checksum(id, file, session, project, events, extracted, seen, first_at, last_at, members)
UNION ALL SELECT 'projects', directory FROM projects WHERE checksum <> checksum(directory, identity, name, scope)
UNION ALL SELECT 'opted_out', session FROM opted_out WHERE checksum <> checksum(session, path)
UNION ALL SELECT 'runs', id FROM runs WHERE checksum <> checksum(id, command, started_at, ended_at, report)
UNION ALL SELECT 'candidates', row FROM candidates WHERE checksum <> checksum(row, pass, thread, ordinal, id, profile, scope, verdict)
UNION ALL SELECT 'hearings', thread FROM hearings WHERE checksum <> checksum(thread, closed, seen)
UNION ALL SELECT 'notes', id FROM notes WHERE checksum <> checksum(id, thread, ordinal, event, at)
UNION ALL SELECT 'summaries', id FROM summaries WHERE checksum <> checksum(row, id, form, day, scope, thread, ordinal, at, body)
UNION ALL SELECT 'dirty', scope FROM dirty WHERE checksum <> checksum(profile, scope)
UNION ALL SELECT 'outputs', path FROM outputs WHERE checksum <> checksum(path, intended, hash, lines);

-- name: content_sums
-- Counts and sums of checksums that change with the content from which files are composed.
SELECT name, count, total FROM tallies WHERE name NOT IN ('files', 'dirty', 'runs')
UNION ALL SELECT 'passes', count(*), max(id) FROM passes
UNION ALL SELECT 'threads', count(*), coalesce(sum(checksum), 0) FROM threads
UNION ALL SELECT 'memories', count(*), coalesce(sum(checksum), 0) FROM memories;

-- name: wrong_tallies
-- The tables whose number of rows or sum of checksums differs from the tally.
WITH found AS (
    SELECT 'settings' AS name, count(*) AS count, coalesce(sum(checksum), 0) AS total FROM settings
    UNION ALL SELECT 'files' AS name, count(*) AS count, coalesce(sum(checksum), 0) AS total FROM files
    UNION ALL SELECT 'projects' AS name, count(*) AS count, coalesce(sum(checksum), 0) AS total FROM projects
    UNION ALL SELECT 'opted_out' AS name, count(*) AS count, coalesce(sum(checksum), 0) AS total FROM opted_out
    UNION ALL SELECT 'runs' AS name, count(*) AS count, coalesce(sum(checksum), 0) AS total FROM runs
    UNION ALL SELECT 'dirty' AS name, count(*) AS count, coalesce(sum(checksum), 0) AS total FROM dirty
    UNION ALL SELECT 'outputs' AS name, count(*) AS count, coalesce(sum(checksum), 0) AS total FROM outputs
    UNION ALL SELECT 'notes' AS name, count(*) AS count, coalesce(sum(checksum), 0) AS total FROM notes
    UNION ALL SELECT 'summaries' AS name, count(*) AS count, coalesce(sum(checksum), 0) AS total FROM summaries
)
SELECT f.name, coalesce(t.count, 0) - f.count AS missing FROM found AS f LEFT JOIN tallies AS t ON t.name = f.name
WHERE t.name IS NULL OR t.count <> f.count OR t.total <> f.total;

-- name: wrong_live
-- The candidates that are live and should not be, or the reverse.
SELECT c.id FROM candidates AS c WHERE c.live <> ({is_live}) ORDER BY c.row;

-- name: forgets
-- The forget operations.
SELECT o.id, o.pass AS pass_id, o.memory, o.kind, o.body, o.commitment, NULL AS salt, NULL AS words
FROM operations AS o WHERE o.kind = 'forget' ORDER BY o.id;

-- name: drop_fingerprints
-- Delete all fingerprints.
DELETE FROM forgotten;

-- name: stray_words
-- The words that belong to no operation or candidate.
SELECT s.owner FROM sealed AS s
WHERE NOT EXISTS (SELECT 1 FROM operations AS o WHERE 'o' || o.id = s.owner AND s.owner LIKE 'o%' AND o.id = CAST(substr(s.owner, 2) AS INTEGER))
      AND NOT EXISTS (SELECT 1 FROM candidates AS c WHERE 'c' || c.row = s.owner AND s.owner LIKE 'c%' AND c.row = CAST(substr(s.owner, 2) AS INTEGER));

-- name: threads_without_notes
-- The threads with events that notes do not cover, and the number of those covered.
SELECT t.id, coalesce(n.events, 0) AS noted FROM threads AS t LEFT JOIN noted AS n ON n.thread = t.id
WHERE t.events <> coalesce(n.events, 0) ORDER BY t.first_at, t.id;

-- name: notes_from
-- The notes of a thread from an ordinal on.
SELECT id, body FROM notes WHERE thread = :thread AND ordinal >= :start;

-- name: drop_notes
-- Delete the notes of a thread from an ordinal on.
DELETE FROM notes WHERE thread = :thread AND ordinal >= :start;

-- name: add_note
-- Store a note.
INSERT INTO notes (id, thread, ordinal, event, at, body, checksum)
VALUES (:id, :thread, :ordinal, :event, :at, :body, checksum(:id, :thread, :ordinal, :event, :at));

-- name: index_note
-- Add a note or passage to the full-text index.
INSERT INTO note_index (rowid, words) VALUES (:id, :words);

-- name: unindex_note
-- Delete a note or passage from the full-text index; the words must be those that were added.
INSERT INTO note_index (note_index, rowid, words) VALUES ('delete', :id, :words);

-- name: put_noted
-- Store how many events of a thread notes cover.
INSERT INTO noted (thread, events) VALUES (:thread, :events) ON CONFLICT (thread) DO UPDATE SET events = excluded.events;

-- name: drop_all_notes
-- Delete all notes.
DELETE FROM notes;

-- name: clear_note_index
-- Empty the full-text index of notes and passages.
INSERT INTO note_index (note_index) VALUES ('delete-all');

-- name: recount_notes
-- Set the tally of notes to none.
UPDATE tallies SET count = 0, total = 0 WHERE name = 'notes';

-- name: drop_noted
-- Record that notes cover no event of a thread.
DELETE FROM noted WHERE thread = :thread;

-- name: noted_threads
-- The threads with events that notes cover.
SELECT thread FROM noted;

-- name: threads_with
-- The threads with some events, or of some sessions.
SELECT DISTINCT te.thread FROM {runs_of_events}
UNION SELECT id FROM threads WHERE session IN (SELECT value FROM json_each(:sessions));

-- name: all_notes
-- All notes.
SELECT id, ordinal, event, at, thread, body FROM notes ORDER BY thread, ordinal;

-- name: notes_between
-- The notes in a span of time, each with its thread's session, project and file.
SELECT n.body, n.thread, t.session, t.project, f.path
FROM notes AS n JOIN threads AS t ON t.id = n.thread JOIN files AS f ON f.id = t.file
WHERE n.at >= :start AND n.at < :stop ORDER BY n.at, n.thread, n.ordinal;

-- name: queue_embedding
-- Queue a row for a new vector.
INSERT OR IGNORE INTO unembedded (kind, item) VALUES (:kind, :item);

-- name: queue_embedding_beside
-- Queue the prompts at most 40 events away from some events, because their vectors may contain the words of these events.
INSERT OR IGNORE INTO unembedded (kind, item)
SELECT 'turn', e.id FROM (
    SELECT te.thread, te.ordinal + each.value - te.event AS ordinal FROM json_each(:events) AS each CROSS JOIN thread_events AS te
    ON te.event BETWEEN each.value / 512 * 512 AND each.value AND te.event + te.events > each.value
) AS place CROSS JOIN thread_events AS o CROSS JOIN events AS e
ON e.id >= o.event + max(0, place.ordinal - 40 - o.ordinal) AND e.id < o.event + min(o.events, place.ordinal + 41 - o.ordinal)
WHERE o.thread = place.thread AND o.ordinal BETWEEN place.ordinal - 552 AND place.ordinal + 40 AND e.voice = 'ph';

-- name: queue_embedding_turns
-- Queue all prompts of the person for new vectors.
INSERT OR IGNORE INTO unembedded (kind, item) SELECT 'turn', id FROM events WHERE voice = 'ph';

-- name: queue_embedding_memories
-- Queue all memories for new vectors.
INSERT OR IGNORE INTO unembedded (kind, item) SELECT 'memory', rowid FROM memories;

-- name: queue_embedding_summaries
-- Queue all notes and lines of days for new vectors.
INSERT OR IGNORE INTO unembedded (kind, item)
SELECT 'summary', id FROM notes UNION ALL SELECT 'summary', row FROM summaries WHERE form <> 'point';

-- name: count_unembedded
-- How many units of each kind are queued for vectors.
SELECT kind, count(*) AS units FROM unembedded GROUP BY kind;

-- name: unembedded
-- The units that are queued for vectors: memories, summaries, turns; the latest of each kind first.
SELECT kind, item FROM unembedded ORDER BY kind, item DESC;

-- name: drop_unembedded
-- Take units from the queue.
DELETE FROM unembedded WHERE (kind, item) IN (
    SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(:units)
);

-- name: add_uses
-- Add to the numbers of uses of the memories that exist.
INSERT INTO uses (memory, times) SELECT m.id, each.value FROM json_each(:times) AS each JOIN memories AS m ON m.id = each.key
WHERE true ON CONFLICT (memory) DO UPDATE SET times = times + excluded.times;

-- name: put_passage
-- Store a passage.
INSERT INTO summaries (row, id, form, day, scope, thread, ordinal, at, body, checksum)
VALUES (:row, :id, :form, :day, :scope, :thread, :ordinal, :at, :body,
        checksum(:row, :id, :form, :day, :scope, :thread, :ordinal, :at, :body))
ON CONFLICT (row) DO UPDATE SET at = excluded.at, body = excluded.body, checksum = excluded.checksum;

-- name: drop_passage
-- Delete a passage.
DELETE FROM summaries WHERE row = :row;

-- name: passages
-- All passages, by time.
SELECT row, id, form, day, scope, thread, ordinal, at, body FROM summaries ORDER BY at, row;

-- name: passage
-- The passage with an id.
SELECT row, body FROM summaries WHERE id = :id;

-- name: points_from
-- The points in a span of a thread.
SELECT row, body FROM summaries WHERE form = 'point' AND thread = :thread AND ordinal >= :start AND ordinal < :stop;

-- name: points_between
-- The points in a span of time, each with its thread's session, project and file.
SELECT s.row, s.body, t.id AS thread, t.session, t.project, f.path
FROM summaries AS s JOIN threads AS t ON t.id = s.thread JOIN files AS f ON f.id = t.file
WHERE s.form = 'point' AND s.at >= :start AND s.at < :stop ORDER BY s.at, s.thread, s.ordinal, s.row;

-- name: lines_of
-- The lines of a day and scope.
SELECT row, body FROM summaries WHERE form = 'line' AND day = :day AND scope = :scope;

-- name: passages_of_days
-- The lines and a person's own words of a span of days.
SELECT row, body FROM summaries WHERE form <> 'point' AND day >= :first AND day <= :last ORDER BY day, scope, ordinal, row;

-- name: settled_rules
-- The version of the rules that curated a settled group.
SELECT rules FROM settled WHERE profile = :profile AND scope = :scope;

-- name: settle
-- Mark a group as settled.
INSERT INTO settled (profile, scope, rules) VALUES (:profile, :scope, :rules)
ON CONFLICT (profile, scope) DO UPDATE SET rules = excluded.rules;

-- name: drop_settled
-- Mark a group as not settled.
DELETE FROM settled WHERE profile = :profile AND scope = :scope;

-- name: unsettle
-- Record that a candidate or memory of a settled group changed.
INSERT OR IGNORE INTO unsettled (profile, scope, item)
SELECT profile, scope, :item FROM settled WHERE profile = :profile AND scope = :scope;

-- name: unsettle_others
-- Record a changed memory in the settled groups of other profiles that its scope concerns.
-- A person's decisions apply to all profiles.
INSERT OR IGNORE INTO unsettled (profile, scope, item)
SELECT profile, scope, :item FROM settled WHERE profile <> :profile AND (:scope = 'user' OR scope = :scope);

-- name: unsettle_span
-- Record that the live candidates from an ordinal of a thread on changed, in their settled groups.
INSERT OR IGNORE INTO unsettled (profile, scope, item)
SELECT c.profile, c.scope, c.id FROM candidates AS c JOIN settled AS s ON s.profile = c.profile AND s.scope = c.scope
WHERE c.live AND c.thread = :thread AND c.ordinal >= :start;

-- name: unsettled
-- The candidates and memories of a group that changed since it was settled.
SELECT item FROM unsettled WHERE profile = :profile AND scope = :scope ORDER BY item;

-- name: drop_unsettled
-- Forget which candidates and memories of a group changed.
DELETE FROM unsettled WHERE profile = :profile AND scope = :scope;

-- name: put_text
-- Store a text of a group.
INSERT OR REPLACE INTO texts (place, profile, scope, form, body, tokens) VALUES (:place, :profile, :scope, :form, :body, :tokens);

-- name: drop_text
-- Delete a text.
DELETE FROM texts WHERE place = :place;

-- name: index_text
-- Add a text to the index of tokens.
INSERT INTO text_index (rowid, tokens) VALUES (:place, :tokens);

-- name: unindex_text
-- Delete a text from the index of tokens; they must be those that were added.
INSERT INTO text_index (text_index, rowid, tokens) VALUES ('delete', :place, :tokens);

-- name: texts_of_group
-- The texts of a group.
SELECT place, body, tokens FROM texts WHERE profile = :profile AND scope = :scope;

-- name: texts_at
-- The texts at some places.
SELECT place, body, tokens FROM texts WHERE place IN (SELECT value FROM json_each(:places)) ORDER BY place;

-- name: texts_of_form
-- The texts of a group with some normal forms.
SELECT place, body, tokens FROM texts WHERE profile = :profile AND scope = :scope AND form IN (SELECT value FROM json_each(:forms));

-- name: texts_continuing
-- The places of texts whose normal form continues another one.
-- `stop` is the form and the character after a space.
SELECT place FROM texts WHERE profile = :profile AND scope = :scope AND form >= :start AND form < :stop;

-- name: texts_before
-- The nearest places before a place whose texts match a query, nearest first.
SELECT rowid AS place FROM text_index WHERE text_index MATCH :query AND rowid < :place ORDER BY rowid DESC LIMIT :most;

-- name: texts_after
-- The nearest places after a place whose texts match a query, nearest first.
SELECT rowid AS place FROM text_index WHERE text_index MATCH :query AND rowid > :place ORDER BY rowid LIMIT :most;

-- name: texts_with
-- The places of texts that match a query, in order.
SELECT rowid AS place FROM text_index WHERE text_index MATCH :query ORDER BY rowid LIMIT :most;

-- name: count_texts_with
-- The number of texts that match a query, up to `most`.
SELECT count(*) AS number FROM (SELECT 1 FROM text_index WHERE text_index MATCH :query LIMIT :most);

-- name: put_place
-- Store the place of the text of a candidate or memory.
INSERT INTO tellings (item, place) VALUES (:item, :place) ON CONFLICT (item) DO UPDATE SET place = excluded.place;

-- name: drop_place
-- Delete the place of a candidate or memory.
DELETE FROM tellings WHERE item = :item;

-- name: drop_places_at
-- Delete all candidates and memories at a place.
DELETE FROM tellings WHERE place = :place;

-- name: places_of
-- The places of some candidates and memories.
SELECT item, place FROM tellings WHERE item IN (SELECT value FROM json_each(:items));

-- name: items_at
-- The candidates and memories at some places.
SELECT item, place FROM tellings WHERE place IN (SELECT value FROM json_each(:places)) ORDER BY item;

-- name: put_rest
-- Record that a memory rests on a candidate.
INSERT OR IGNORE INTO rests (candidate, memory) VALUES (:candidate, :memory);

-- name: drop_rests
-- Delete what a memory rests on.
DELETE FROM rests WHERE memory = :memory;

-- name: memories_based_on
-- The memories that rest on some candidates.
SELECT DISTINCT memory FROM rests WHERE candidate IN (SELECT value FROM json_each(:candidates)) ORDER BY memory;

-- name: candidates_with
-- The live candidates of a group with some ids.
{candidates}
WHERE c.live AND c.profile = :profile AND c.scope = :scope AND c.id IN (SELECT value FROM json_each(:ids))
ORDER BY c.row;

-- name: count_live
-- The number of live candidates of a group.
SELECT count(*) AS number FROM candidates WHERE live AND profile = :profile AND scope = :scope;

-- name: count_active
-- The number of active memories of a group, by category.
SELECT category, count(*) AS number FROM memories WHERE profile = :profile AND scope = :scope AND status = 'active' GROUP BY category;

-- name: ended_memories
-- The memories of a group and some categories that ended at `since` or later.
SELECT id, body, checksum FROM memories
WHERE profile = :profile AND scope = :scope AND category IN (SELECT value FROM json_each(:categories))
    AND status IN ('retired', 'superseded', 'resolved') AND coalesce(json_extract(body, '$.ended_at'), :since) >= :since
ORDER BY id;

-- name: clear_texts
-- Delete all texts.
DELETE FROM texts;

-- name: clear_tellings
-- Delete the places of all candidates and memories.
DELETE FROM tellings;

-- name: clear_rests
-- Delete what all memories rest on.
DELETE FROM rests;

-- name: clear_settled
-- Mark all groups as not settled.
DELETE FROM settled;

-- name: clear_unsettled
-- Delete the changes of all settled groups.
DELETE FROM unsettled;

-- name: clear_text_index
-- Empty the index of tokens.
INSERT INTO text_index (text_index) VALUES ('delete-all');
