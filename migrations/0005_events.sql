-- How events are written and for how long they are kept.

-- Every event is written through this. The lock is held until the transaction has
-- committed, and only then may another writer take a number: so numbers become
-- visible in their order. It is the last thing a transaction does. (1702258030 is
-- `even` in ASCII, 29811 is `ts`.)
CREATE FUNCTION record_event(
    event_type text, event_organisation text, event_guild text, event_agent text, event_detail json
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    number bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1702258030, 29811);
    INSERT INTO events (type, organisation, guild, agent, detail)
    VALUES (event_type, event_organisation, event_guild, event_agent, event_detail)
    RETURNING seq INTO number;
    -- Whoever waits is told when the transaction commits.
    PERFORM pg_notify('guilds_events', number::text);
    RETURN number;
END $$;

-- A reader that stayed away for longer than events are kept has to learn that it
-- missed some. Gaps in `seq` can't tell: writers that gave up leave gaps too.
CREATE TABLE events_swept (
    -- One row.
    single   boolean NOT NULL DEFAULT true CONSTRAINT events_swept_pkey PRIMARY KEY,
    -- Every event up to here was removed; 0 while none was.
    through  bigint NOT NULL DEFAULT 0,
    CONSTRAINT events_swept_single_check CHECK (single)
);
INSERT INTO events_swept DEFAULT VALUES;
