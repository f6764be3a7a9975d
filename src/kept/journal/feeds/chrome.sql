-- Visits since a moment (microseconds since 1601), the oldest first.
SELECT u.url, u.title, v.visit_time
FROM visits AS v
JOIN urls AS u ON u.id = v.url
WHERE v.visit_time > :since
ORDER BY v.visit_time
LIMIT :most
