-- Visits since a moment (microseconds since 1970), the oldest first.
SELECT p.url, p.title, v.visit_date
FROM moz_historyvisits AS v
JOIN moz_places AS p ON p.id = v.place_id
WHERE v.visit_date > :since
ORDER BY v.visit_date
LIMIT :most
