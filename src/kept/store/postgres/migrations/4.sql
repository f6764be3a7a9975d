-- Full-text search for memories and shared lines on the server itself (`kept search --store URL`). A text is indexed by its stems
-- in the language whose stop words and endings shorten it most, its words unchanged, the pieces of identifiers and paths, and pairs
-- of CJK characters. There is no GIN index: row-level security would prevent its use, because @@ is not leakproof. An owner's rows
-- are found by the primary key, which begins with the role.
CREATE FUNCTION kept.words(said text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog AS $$
DECLARE
    whole text := translate(said, '\''', '  ');
    apart text := translate(regexp_replace(whole, '([a-z0-9])([A-Z])', '\1 \2', 'g'), './_-:#="', '        ');
    tongue regconfig;
BEGIN
    SELECT each INTO tongue
    FROM unnest(ARRAY['english', 'german', 'french', 'spanish', 'italian', 'portuguese', 'dutch', 'russian', 'swedish', 'danish', 'norwegian',
        'finnish', 'hungarian', 'turkish']::regconfig[]) WITH ORDINALITY AS tongues (each, place)
    ORDER BY length(to_tsvector(each, apart)), place LIMIT 1;
    RETURN strip(to_tsvector(tongue, apart)) || array_to_tsvector(ARRAY(
        SELECT lexeme FROM unnest(to_tsvector('simple', whole || ' ' || apart)) WHERE length(to_tsvector(tongue, lexeme)) > 0
        UNION
        SELECT substr(run[1], place, 2)
        FROM regexp_matches(whole, '[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+', 'g') AS run, generate_series(1, greatest(length(run[1]) - 1, 1)) AS place
    ));
EXCEPTION WHEN OTHERS THEN
    RETURN ''; -- words that PostgreSQL cannot index keep no row from being kept
END
$$;

CREATE FUNCTION kept.content(body text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog AS $$
BEGIN
    RETURN concat_ws(' ', body::json ->> 'content', body::json ->> 'artifacts');
EXCEPTION WHEN OTHERS THEN
    RETURN ''; -- JSON with a character that PostgreSQL has not
END
$$;

ALTER TABLE kept.memories ADD COLUMN words tsvector GENERATED ALWAYS AS (kept.words(kept.content(body))) STORED;
ALTER TABLE kept.shared ADD COLUMN words tsvector GENERATED ALWAYS AS (kept.words(content)) STORED;
