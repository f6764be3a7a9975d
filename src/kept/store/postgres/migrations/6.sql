-- The state of a reader is compressed. The rows that are there are renewed by the machine that wrote last.
ALTER TABLE kept.files ALTER COLUMN "carry" TYPE bytea USING convert_to("carry", 'UTF8');
