-- name: reply
SELECT body FROM replies WHERE key = ?
-- name: put_reply
INSERT OR REPLACE INTO replies (key, model, purpose, version, at, about, body) VALUES (?, ?, ?, ?, ?, ?, ?)
-- name: drop_reply
DELETE FROM replies WHERE key = ?
-- name: every_reply
SELECT key, about, body FROM replies
-- name: failures
SELECT tries, fault FROM unreadable WHERE key = ? AND program = ?
-- name: every_failure
SELECT key, tries, fault, about FROM unreadable ORDER BY key
-- name: count_failure
INSERT INTO unreadable (key, tries, fault, about, program) VALUES (?, 1, ?, ?, ?)
ON CONFLICT (key) DO UPDATE
SET tries = CASE program WHEN excluded.program THEN tries + 1 ELSE 1 END, fault = excluded.fault, program = excluded.program
-- name: drop_failures
DELETE FROM unreadable WHERE key = ?
-- name: spend
INSERT INTO spent (at, purpose, model, calls, input_tokens, output_tokens, cached_tokens, cost) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
-- name: spent
SELECT purpose, model, sum(calls), sum(input_tokens), sum(output_tokens), sum(cached_tokens), total(cost), count(*) - count(cost)
FROM spent WHERE at >= ? AND at < ? GROUP BY purpose, model ORDER BY purpose, model
-- name: moments
SELECT at FROM spent WHERE model = ? ORDER BY at DESC LIMIT 100
-- name: batches
SELECT id, model, at, items FROM batches ORDER BY at, id
-- name: put_batch
INSERT OR REPLACE INTO batches (id, model, at, items) VALUES (?, ?, ?, ?)
-- name: drop_batch
DELETE FROM batches WHERE id = ?
-- name: vacuum
VACUUM
