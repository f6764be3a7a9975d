-- Search on the server, over the owner's memories and lines that others share with the owner's teams: entries with any of the
-- question's words, where rarer words weigh more, and the memories nearest in meaning (near.sql).
WITH asked AS MATERIALIZED (SELECT lexeme, ('''' || lexeme || '''')::tsquery AS word FROM unnest(kept.words(%(question)s))),
told AS MATERIALIZED (
    SELECT rowid, '' AS team, '' AS owner, id, words FROM kept.memories WHERE role = current_user AND status IN ('active', 'held')
    UNION ALL
    SELECT NULL, team, owner, id, words FROM kept.shared WHERE owner <> current_user
),
said AS MATERIALIZED (SELECT rowid, team, owner, id, lexeme FROM told JOIN asked ON words @@ word),
rare AS (SELECT lexeme, ln(1 + ((SELECT count(*) FROM told) - count(*) + 0.5) / (count(*) + 0.5)) AS weight FROM said GROUP BY lexeme), -- as in BM25
worded AS MATERIALIZED (
    SELECT rowid, team, owner, id, sum(weight)::float8 AS words FROM said JOIN rare USING (lexeme)
    GROUP BY rowid, team, owner, id ORDER BY words DESC, id LIMIT %(most)s
),
near AS MATERIALIZED ({near})
SELECT m.id, m.body, m.checksum, NULL, NULL, NULL, NULL, NULL, w.words, n.cosine, n.half
FROM worded w FULL JOIN near n ON n.memory = w.rowid
JOIN kept.memories m ON m.role = current_user AND m.rowid = coalesce(w.rowid, n.memory) AND m.status IN ('active', 'held')
UNION ALL
SELECT s.id, NULL, NULL, s.team, s.owner, s.category, s.content, s.at, w.words, NULL, NULL
FROM worded w JOIN kept.shared s ON (s.team, s.owner, s.id) = (w.team, w.owner, w.id)
