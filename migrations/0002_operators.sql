-- What operators set up beyond agents and bindings, and the pasts they look into.
--
-- Tables of tools that are not built yet stand here already: the document stores
-- their objects, and the operator's lists read them.

-- Every change of a sealed value or of a name that marks it raises this, so that
-- a replica knows when what it redacts with is old.
ALTER TABLE organisations ADD COLUMN secrets_version bigint NOT NULL DEFAULT 0;

-- A connector is bound like a tool; its id is never a tool's or a family's name,
-- so that both share one key.
ALTER TABLE bindings ADD COLUMN subject text NOT NULL DEFAULT 'tool'
    CONSTRAINT bindings_subject_check CHECK (subject IN ('tool', 'connector'));

-- A run is history: it stays when its agent goes.
ALTER TABLE runs DROP CONSTRAINT runs_agent_fkey;

-- What a note was before a write, a deletion or a restore.
CREATE TABLE note_revisions (
    id        bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT note_revisions_pkey PRIMARY KEY,
    artifact  bigint NOT NULL CONSTRAINT note_revisions_artifact_fkey REFERENCES artifacts ON DELETE CASCADE,
    body      text NOT NULL,
    -- Whether the note was deleted at that time.
    deleted   boolean NOT NULL,
    -- Who ended it: `agent:<id>` or `operator:<token>`.
    actor     text NOT NULL,
    at        timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX note_revisions_artifact_idx ON note_revisions (artifact, id DESC);

-- Records of the collections whose definitions are artifacts.
CREATE TABLE records (
    id          bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT records_pkey PRIMARY KEY,
    collection  bigint NOT NULL CONSTRAINT records_collection_fkey REFERENCES artifacts ON DELETE CASCADE,
    body        jsonb NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    deleted_at  timestamptz
);
CREATE INDEX records_collection_idx ON records (collection, id) WHERE deleted_at IS NULL;

CREATE TABLE record_revisions (
    id       bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT record_revisions_pkey PRIMARY KEY,
    record   bigint NOT NULL CONSTRAINT record_revisions_record_fkey REFERENCES records ON DELETE CASCADE,
    body     jsonb NOT NULL,
    deleted  boolean NOT NULL,
    actor    text NOT NULL,
    at       timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX record_revisions_record_idx ON record_revisions (record, id DESC);

-- Values are sealed; the row's id is the associated data of the seal.
CREATE TABLE secrets (
    id            uuid CONSTRAINT secrets_pkey PRIMARY KEY,
    organisation  text COLLATE "C" NOT NULL CONSTRAINT secrets_organisation_fkey REFERENCES organisations,
    name          text COLLATE "C" NOT NULL,
    description   text NOT NULL DEFAULT '',
    key_id        text NOT NULL,
    sealed        bytea NOT NULL,
    -- The agent that stored it; null for an operator's.
    stored_by     text COLLATE "C",
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT secrets_name_key UNIQUE (organisation, name)
);

CREATE TABLE secret_grants (
    secret  uuid NOT NULL CONSTRAINT secret_grants_secret_fkey REFERENCES secrets ON DELETE CASCADE,
    agent   text COLLATE "C" NOT NULL CONSTRAINT secret_grants_agent_fkey REFERENCES agents ON DELETE CASCADE,
    CONSTRAINT secret_grants_pkey PRIMARY KEY (secret, agent)
);
CREATE INDEX secret_grants_agent_idx ON secret_grants (agent);

CREATE TABLE secret_requests (
    id            uuid CONSTRAINT secret_requests_pkey PRIMARY KEY,
    organisation  text COLLATE "C" NOT NULL CONSTRAINT secret_requests_organisation_fkey REFERENCES organisations,
    guild         text COLLATE "C" NOT NULL,
    agent         text COLLATE "C" NOT NULL CONSTRAINT secret_requests_agent_fkey REFERENCES agents ON DELETE CASCADE,
    run           uuid CONSTRAINT secret_requests_run_fkey REFERENCES runs,
    call_id       text,
    name          text COLLATE "C" NOT NULL,
    reason        text NOT NULL,
    status        text NOT NULL DEFAULT 'pending' CONSTRAINT secret_requests_status_check CHECK (status IN ('pending', 'fulfilled', 'denied')),
    -- Why it was denied.
    answer        text,
    decided_by    text,
    created_at    timestamptz NOT NULL DEFAULT now(),
    decided_at    timestamptz
);
CREATE INDEX secret_requests_pending_idx ON secret_requests (organisation, id) WHERE status = 'pending';

CREATE TABLE connectors (
    organisation  text COLLATE "C" NOT NULL CONSTRAINT connectors_organisation_fkey REFERENCES organisations,
    id            text COLLATE "C" NOT NULL,
    kind          text NOT NULL CONSTRAINT connectors_kind_check CHECK (kind IN ('tavily', 'mcp', 'github')),
    url           text NOT NULL,
    -- Tool name to filter.
    filters       json NOT NULL DEFAULT '{}',
    created_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT connectors_pkey PRIMARY KEY (organisation, id)
);

CREATE TABLE logins (
    id            uuid CONSTRAINT logins_pkey PRIMARY KEY,
    organisation  text COLLATE "C" NOT NULL,
    connector     text COLLATE "C" NOT NULL,
    level         text NOT NULL CONSTRAINT logins_level_check CHECK (level IN ('agent', 'guild', 'organisation')),
    owner         text COLLATE "C" NOT NULL,
    platform      boolean NOT NULL DEFAULT false,
    status        text NOT NULL CONSTRAINT logins_status_check CHECK (status IN ('pending', 'connected', 'disconnected')),
    -- Tool name to whether it is on; a tool that is not named is on.
    tools         json NOT NULL DEFAULT '{}',
    -- Both null while no key is stored.
    key_id        text,
    sealed        bytea,
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT logins_connector_fkey FOREIGN KEY (organisation, connector) REFERENCES connectors,
    CONSTRAINT logins_place_key UNIQUE (organisation, connector, level, owner),
    CONSTRAINT logins_sealed_check CHECK ((key_id IS NULL) = (sealed IS NULL))
);

CREATE TABLE schedules (
    id            uuid CONSTRAINT schedules_pkey PRIMARY KEY,
    organisation  text COLLATE "C" NOT NULL CONSTRAINT schedules_organisation_fkey REFERENCES organisations,
    agent         text COLLATE "C" NOT NULL CONSTRAINT schedules_agent_fkey REFERENCES agents ON DELETE CASCADE,
    kind          text NOT NULL CONSTRAINT schedules_kind_check CHECK (kind IN ('cron', 'window')),
    description   text NOT NULL,
    instruction   text NOT NULL,
    state         text NOT NULL DEFAULT 'active' CONSTRAINT schedules_state_check CHECK (state IN ('active', 'paused')),
    next_fire     timestamptz,
    -- A cron schedule's.
    cron          text,
    -- A window schedule's: IANA name, `HH:MM`, `HH:MM`, wake-ups per window.
    timezone      text,
    starts        text,
    ends          text,
    max_wakes     integer,
    created_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT schedules_shape_check CHECK (
        (kind = 'cron') = (cron IS NOT NULL)
        AND (kind = 'window') = (timezone IS NOT NULL AND starts IS NOT NULL AND ends IS NOT NULL AND max_wakes IS NOT NULL))
);
CREATE INDEX schedules_agent_idx ON schedules (agent, id);

-- What the chat backend is told. Writers take one lock until they commit, so that
-- `seq` grows in the order of commits and a reader never skips one.
CREATE TABLE events (
    seq           bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT events_pkey PRIMARY KEY,
    at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    type          text NOT NULL CONSTRAINT events_type_check CHECK (type IN ('wakeup', 'group_post', 'secret_request', 'secret_granted', 'issue', 'login_changed')),
    organisation  text COLLATE "C" NOT NULL CONSTRAINT events_organisation_fkey REFERENCES organisations,
    guild         text COLLATE "C",
    agent         text COLLATE "C",
    -- What its type adds.
    detail        json NOT NULL DEFAULT '{}'
);
CREATE INDEX events_at_idx ON events (at);

-- Raises the version in the transaction of the change, whoever makes it.
CREATE FUNCTION organisations_secrets_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE organisations SET secrets_version = secrets_version + 1
     WHERE id = COALESCE(NEW.organisation, OLD.organisation);
    RETURN NULL;
END $$;
CREATE TRIGGER secrets_changed AFTER INSERT OR UPDATE OR DELETE ON secrets
    FOR EACH ROW EXECUTE FUNCTION organisations_secrets_changed();
CREATE TRIGGER logins_changed AFTER INSERT OR UPDATE OR DELETE ON logins
    FOR EACH ROW EXECUTE FUNCTION organisations_secrets_changed();
