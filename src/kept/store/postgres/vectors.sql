-- Vectors of memories, if the server has pgvector. Every `kept migrate --prepare` runs this file, which is idempotent. A vector is
-- deleted with its memory, and as soon as the memory's words change. If an owner has more than 50,000 vectors, an HNSW index is
-- created.
DO $$
DECLARE
    size integer;
BEGIN
    IF to_regclass('kept.vectors') IS NULL THEN
        CREATE EXTENSION IF NOT EXISTS vector;
        CREATE TABLE kept.vectors (
            role   text COLLATE "C" NOT NULL DEFAULT current_user,
            memory bigint NOT NULL,
            model  text COLLATE "C" NOT NULL,
            vector halfvec NOT NULL,
            PRIMARY KEY (role, memory),
            FOREIGN KEY (role, memory) REFERENCES kept.memories (role, rowid) ON DELETE CASCADE
        );
        ALTER TABLE kept.vectors ENABLE ROW LEVEL SECURITY;
        ALTER TABLE kept.vectors FORCE ROW LEVEL SECURITY;
        CREATE POLICY own_rows ON kept.vectors USING (role = current_user) WITH CHECK (role = current_user);
        GRANT SELECT, INSERT, UPDATE, DELETE ON kept.vectors TO PUBLIC;
        CREATE FUNCTION kept.drop_vector() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN DELETE FROM kept.vectors WHERE role = OLD.role AND memory = OLD.rowid; RETURN NULL; END';
        CREATE TRIGGER drop_vector AFTER UPDATE ON kept.memories FOR EACH ROW
            WHEN (kept.content(OLD.body) IS DISTINCT FROM kept.content(NEW.body)) EXECUTE FUNCTION kept.drop_vector();
    END IF;
    FOREACH size IN ARRAY ARRAY(
        SELECT DISTINCT vector_dims(vector) FROM kept.vectors GROUP BY role, vector_dims(vector) HAVING count(*) > 50000
    ) LOOP
        EXECUTE format('CREATE INDEX IF NOT EXISTS vectors_near_%s ON kept.vectors USING hnsw ((vector::halfvec(%1$s)) halfvec_ip_ops)'
            ' WHERE vector_dims(vector) = %1$s', size);
    END LOOP;
EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN
    NULL; -- without pgvector, or a role that may make the extension, memories are found by their words alone
END
$$;
