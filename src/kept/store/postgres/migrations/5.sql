-- A row of thread_events is a run of events. The rows that are there are renewed by the machine that wrote last.
ALTER TABLE kept.thread_events ADD COLUMN "events" bigint NOT NULL DEFAULT 1;
ALTER TABLE kept.thread_events ALTER COLUMN "events" DROP DEFAULT;
