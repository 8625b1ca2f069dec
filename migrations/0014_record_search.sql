-- What searches of records read, written by `store/records/index.rs` with every record.
--
-- Nothing here depends on the cluster's locale: text is folded and split before it is
-- stored, and the index holds numbers that are made of its pieces.

ALTER TABLE records
    -- Folded texts of the columns where folding changes something.
    ADD COLUMN folded jsonb NOT NULL DEFAULT '{}',
    -- The folded words of each column, each between single spaces, behind a mark that
    -- names the column.
    ADD COLUMN words text COLLATE "C" NOT NULL DEFAULT '',
    -- Numbers of words, pieces of words, values and stretches of values, each of this
    -- collection: what they find is looked at again, so that two pieces of one number
    -- cost time only.
    ADD COLUMN tokens integer[] NOT NULL DEFAULT '{}',
    -- SHA-256 of the unique column's value; null without one.
    ADD COLUMN unique_key bytea;

-- Tokens are read by the index only: out of the row, they leave more rows on a page.
ALTER TABLE records ALTER COLUMN tokens SET STORAGE EXTERNAL;
ALTER TABLE records SET (toast_tuple_target = 512);

-- No two live records share a unique value; a removed one frees it.
CREATE UNIQUE INDEX records_unique_key ON records (collection, unique_key) WHERE deleted_at IS NULL;

-- The list of what waits to be sorted in stays short, because each search reads it whole.
CREATE INDEX records_tokens_idx ON records USING gin (tokens)
    WITH (fastupdate = on, gin_pending_list_limit = 256) WHERE deleted_at IS NULL;

CREATE INDEX records_changed_idx ON records (collection, updated_at, id) WHERE deleted_at IS NULL;

-- The distinct folded words of a collection, for what is spelt almost alike: two words
-- within an edit or two share a token of `deletions`. A word that no record has any more
-- stays; it finds nothing.
CREATE TABLE record_words (
    collection  bigint NOT NULL CONSTRAINT record_words_collection_fkey REFERENCES artifacts ON DELETE CASCADE,
    word        text COLLATE "C" NOT NULL,
    deletions   integer[] NOT NULL,
    CONSTRAINT record_words_pkey PRIMARY KEY (collection, word)
);
CREATE INDEX record_words_deletions_idx ON record_words USING gin (deletions)
    WITH (fastupdate = on, gin_pending_list_limit = 256);

-- How many live records a collection has. Each connection counts in a part of its own, so
-- that writers of one collection don't wait for each other.
CREATE TABLE record_counts (
    collection  bigint NOT NULL CONSTRAINT record_counts_collection_fkey REFERENCES artifacts ON DELETE CASCADE,
    part        smallint NOT NULL,
    live        bigint NOT NULL,
    CONSTRAINT record_counts_pkey PRIMARY KEY (collection, part)
) WITH (fillfactor = 50);

INSERT INTO record_counts (collection, part, live)
SELECT collection, 0, count(*) FROM records WHERE deleted_at IS NULL GROUP BY collection;

CREATE FUNCTION records_counted(counted bigint, difference bigint) RETURNS void LANGUAGE sql AS $$
    -- A collection that is going takes its counts with it.
    INSERT INTO record_counts AS c (collection, part, live)
    SELECT counted, pg_backend_pid() % 16, difference
     WHERE difference <> 0 AND EXISTS (SELECT FROM artifacts a WHERE a.id = counted)
    ON CONFLICT ON CONSTRAINT record_counts_pkey DO UPDATE SET live = c.live + excluded.live
$$;

CREATE FUNCTION records_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM records_counted(collection, count(*)) FROM new_rows WHERE deleted_at IS NULL GROUP BY collection;
    RETURN NULL;
END $$;
CREATE TRIGGER records_inserted AFTER INSERT ON records REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION records_inserted();

CREATE FUNCTION records_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM records_counted(collection, -count(*)) FROM old_rows WHERE deleted_at IS NULL GROUP BY collection;
    RETURN NULL;
END $$;
CREATE TRIGGER records_deleted AFTER DELETE ON records REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION records_deleted();

CREATE FUNCTION records_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM records_counted(NEW.collection, CASE WHEN NEW.deleted_at IS NULL THEN 1 ELSE -1 END);
    RETURN NULL;
END $$;
CREATE TRIGGER records_updated AFTER UPDATE ON records FOR EACH ROW
    WHEN ((OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL))
    EXECUTE FUNCTION records_updated();
