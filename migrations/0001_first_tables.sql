-- The first tables: who exists, what they stored, what was called.
--
-- Every constraint is named, because the store turns a violated name into a
-- refusal. Times are timestamptz. Nothing here depends on the cluster's locale:
-- text that is compared or ordered is collated "C".

CREATE TABLE organisations (
    id          text COLLATE "C" CONSTRAINT organisations_pkey PRIMARY KEY,
    created_at  timestamptz NOT NULL DEFAULT now()
);

-- Bearer tokens of the HTTP API. Only the SHA-256 of a token is kept: a token
-- is 256 random bits, so a slow hash would add nothing.
CREATE TABLE tokens (
    id            uuid CONSTRAINT tokens_pkey PRIMARY KEY,
    sha256        bytea NOT NULL CONSTRAINT tokens_sha256_key UNIQUE,
    role          text NOT NULL CONSTRAINT tokens_role_check CHECK (role IN ('backend', 'operator')),
    organisation  text COLLATE "C" CONSTRAINT tokens_organisation_fkey REFERENCES organisations,
    created_at    timestamptz NOT NULL DEFAULT now(),
    revoked_at    timestamptz,
    CONSTRAINT tokens_organisation_check CHECK ((role = 'operator') = (organisation IS NOT NULL))
);

-- A guild's id is unique in its organisation; ids of organisations, machines and
-- agents are unique in the whole control plane.
CREATE TABLE guilds (
    id            text COLLATE "C" NOT NULL,
    organisation  text COLLATE "C" NOT NULL CONSTRAINT guilds_organisation_fkey REFERENCES organisations,
    repositories  jsonb NOT NULL DEFAULT '[]',
    created_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT guilds_pkey PRIMARY KEY (organisation, id)
);

CREATE TABLE machines (
    id            text COLLATE "C" CONSTRAINT machines_pkey PRIMARY KEY,
    organisation  text COLLATE "C" NOT NULL CONSTRAINT machines_organisation_fkey REFERENCES organisations,
    address       text NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE agents (
    id            text COLLATE "C" CONSTRAINT agents_pkey PRIMARY KEY,
    organisation  text COLLATE "C" NOT NULL CONSTRAINT agents_organisation_fkey REFERENCES organisations,
    guild         text COLLATE "C" NOT NULL,
    machine       text COLLATE "C" NOT NULL CONSTRAINT agents_machine_fkey REFERENCES machines,
    slot          smallint NOT NULL CONSTRAINT agents_slot_check CHECK (slot BETWEEN 0 AND 99),
    config        jsonb NOT NULL DEFAULT '{}',
    created_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT agents_guild_fkey FOREIGN KEY (organisation, guild) REFERENCES guilds,
    -- Deferred, so that one document may swap the slots of two agents.
    CONSTRAINT agents_machine_slot_key UNIQUE (machine, slot) DEFERRABLE INITIALLY DEFERRED
);

-- One row switches one tool, family or connector on or off at one level.
CREATE TABLE bindings (
    organisation  text COLLATE "C" NOT NULL CONSTRAINT bindings_organisation_fkey REFERENCES organisations,
    level         text NOT NULL CONSTRAINT bindings_level_check CHECK (level IN ('agent', 'guild', 'organisation')),
    owner         text COLLATE "C" NOT NULL,
    tool          text COLLATE "C" NOT NULL,
    enabled       boolean NOT NULL,
    updated_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT bindings_pkey PRIMARY KEY (organisation, level, owner, tool)
);

CREATE TABLE audit (
    id            bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT audit_pkey PRIMARY KEY,
    organisation  text COLLATE "C" NOT NULL CONSTRAINT audit_organisation_fkey REFERENCES organisations,
    at            timestamptz NOT NULL DEFAULT now(),
    actor         text NOT NULL,
    action        text NOT NULL,
    kind          text NOT NULL,
    object        text NOT NULL,
    before        jsonb,
    after         jsonb
);
CREATE INDEX audit_organisation_idx ON audit (organisation, id DESC);

-- Notes, memory, scripts and (later) collections' definitions. `owner` is the
-- agent's, guild's or organisation's id; `detail` holds what a kind adds.
CREATE TABLE artifacts (
    id            bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT artifacts_pkey PRIMARY KEY,
    organisation  text COLLATE "C" NOT NULL CONSTRAINT artifacts_organisation_fkey REFERENCES organisations,
    kind          text NOT NULL CONSTRAINT artifacts_kind_check CHECK (kind IN ('note', 'memory', 'script', 'collection')),
    level         text NOT NULL CONSTRAINT artifacts_level_check CHECK (level IN ('agent', 'guild', 'org')),
    owner         text COLLATE "C" NOT NULL,
    key           text COLLATE "C" NOT NULL,
    body          text NOT NULL,
    -- Words of key and body, folded and each between single spaces, as
    -- `store/words.rs` writes them: a search reads these and never the body, so
    -- that the cluster's locale can't change what is found.
    words         text COLLATE "C" NOT NULL DEFAULT '',
    detail        json,
    -- Equal until the first write.
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    deleted_at    timestamptz,
    CONSTRAINT artifacts_place_key UNIQUE (organisation, kind, level, owner, key)
);

-- An agent's task.md and memory.md always exist, empty at first.
CREATE FUNCTION agents_first_artifacts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO artifacts (organisation, kind, level, owner, key, body, words)
    VALUES (NEW.organisation, 'note', 'agent', NEW.id, 'task.md', '', ' task md ' || chr(10)),
           (NEW.organisation, 'memory', 'agent', NEW.id, 'memory.md', '', ' memory md ' || chr(10))
    ON CONFLICT ON CONSTRAINT artifacts_place_key DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER agents_first_artifacts AFTER INSERT ON agents
    FOR EACH ROW EXECUTE FUNCTION agents_first_artifacts();

-- Who reaches a guild's or the organisation's artifact.
CREATE TABLE artifact_access (
    artifact      bigint NOT NULL CONSTRAINT artifact_access_artifact_fkey REFERENCES artifacts ON DELETE CASCADE,
    level         text NOT NULL CONSTRAINT artifact_access_level_check CHECK (level IN ('agent', 'guild', 'organisation')),
    owner         text COLLATE "C" NOT NULL,
    access        text NOT NULL CONSTRAINT artifact_access_access_check CHECK (access IN ('none', 'read', 'write')),
    CONSTRAINT artifact_access_pkey PRIMARY KEY (artifact, level, owner)
);

CREATE TABLE memory_revisions (
    id            bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT memory_revisions_pkey PRIMARY KEY,
    artifact      bigint NOT NULL CONSTRAINT memory_revisions_artifact_fkey REFERENCES artifacts ON DELETE CASCADE,
    body          text NOT NULL,
    at            timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX memory_revisions_artifact_idx ON memory_revisions (artifact, id DESC);

CREATE TABLE runs (
    id               uuid CONSTRAINT runs_pkey PRIMARY KEY,
    organisation     text COLLATE "C" NOT NULL CONSTRAINT runs_organisation_fkey REFERENCES organisations,
    guild            text COLLATE "C" NOT NULL,
    agent            text COLLATE "C" NOT NULL CONSTRAINT runs_agent_fkey REFERENCES agents,
    kind             text NOT NULL CONSTRAINT runs_kind_check CHECK (kind IN ('direct', 'group_chat', 'schedule')),
    state            text NOT NULL DEFAULT 'open' CONSTRAINT runs_state_check CHECK (state IN ('open', 'ended')),
    turn             integer NOT NULL DEFAULT 1,
    max_tool_calls   integer NOT NULL,
    remaining        integer NOT NULL CONSTRAINT runs_remaining_check CHECK (remaining >= 0),
    next_sequence    bigint NOT NULL DEFAULT 1,
    notices          jsonb NOT NULL DEFAULT '[]',
    created_at       timestamptz NOT NULL DEFAULT now(),
    last_request_at  timestamptz NOT NULL DEFAULT now(),
    ended_at         timestamptz
);
CREATE INDEX runs_agent_idx ON runs (agent, created_at DESC);
CREATE INDEX runs_idle_idx ON runs (last_request_at) WHERE state = 'open';

-- What a turn offered. Offer and dispatch both read it, so that they agree on
-- every replica.
CREATE TABLE run_turns (
    run    uuid NOT NULL CONSTRAINT run_turns_run_fkey REFERENCES runs ON DELETE CASCADE,
    turn   integer NOT NULL,
    tools  json NOT NULL,
    -- The agent's configuration as the turn read it: a tool that looks at a flag
    -- sees what the offer saw.
    config json NOT NULL,
    CONSTRAINT run_turns_pkey PRIMARY KEY (run, turn)
);

-- The scripts of a run as it started, plus those it created under a new name.
CREATE TABLE run_scripts (
    run          uuid NOT NULL CONSTRAINT run_scripts_run_fkey REFERENCES runs ON DELETE CASCADE,
    name         text COLLATE "C" NOT NULL,
    description  text NOT NULL,
    source       text NOT NULL,
    sha256       text NOT NULL,
    parameters   json,
    -- False for a script made in this run: its own tool comes with the next run.
    as_tool      boolean NOT NULL,
    CONSTRAINT run_scripts_pkey PRIMARY KEY (run, name)
);

CREATE TABLE calls (
    run          uuid NOT NULL CONSTRAINT calls_run_fkey REFERENCES runs ON DELETE CASCADE,
    call_id      text COLLATE "C" NOT NULL,
    machine_id   text COLLATE "C" NOT NULL,
    turn         integer NOT NULL,
    name         text NOT NULL,
    -- Redacted; `json`, so that key order and digits survive.
    arguments    json NOT NULL,
    -- Keyed digest of name and arguments as received, to tell a retry from a reuse.
    digest       bytea NOT NULL,
    -- N of the trailer: calls that remained once this one was taken.
    remaining    integer NOT NULL,
    state        text NOT NULL CONSTRAINT calls_state_check CHECK (state IN ('claimed', 'sent', 'stored')),
    lease_until  timestamptz,
    sequence     bigint,
    message      uuid,
    content      text,
    metadata     json,
    claimed_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    sent_at      timestamptz,
    stored_at    timestamptz,
    CONSTRAINT calls_pkey PRIMARY KEY (run, call_id),
    CONSTRAINT calls_sequence_key UNIQUE (run, sequence),
    CONSTRAINT calls_stored_check CHECK ((state = 'stored') = (content IS NOT NULL AND sequence IS NOT NULL))
);
CREATE INDEX calls_lease_idx ON calls (lease_until) WHERE state <> 'stored';

-- One row per grouped problem; `fingerprint` is kind, tool and summary folded, a number's digits as one #.
CREATE TABLE issues (
    id            bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT issues_pkey PRIMARY KEY,
    organisation  text COLLATE "C" NOT NULL CONSTRAINT issues_organisation_fkey REFERENCES organisations,
    guild         text COLLATE "C" NOT NULL,
    fingerprint   text COLLATE "C" NOT NULL,
    kind          text NOT NULL CONSTRAINT issues_kind_check CHECK (kind IN ('tool_failure', 'truncated', 'api', 'other')),
    tool_name     text,
    summary       text NOT NULL,
    severity      text NOT NULL CONSTRAINT issues_severity_check CHECK (severity IN ('low', 'medium', 'high')),
    status        text NOT NULL DEFAULT 'open' CONSTRAINT issues_status_check CHECK (status IN ('open', 'resolved')),
    reports       integer NOT NULL DEFAULT 0,
    first_at      timestamptz NOT NULL DEFAULT now(),
    last_at       timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT issues_guild_fkey FOREIGN KEY (organisation, guild) REFERENCES guilds,
    CONSTRAINT issues_fingerprint_key UNIQUE (organisation, guild, fingerprint)
);

CREATE TABLE issue_reports (
    id        bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT issue_reports_pkey PRIMARY KEY,
    issue     bigint NOT NULL CONSTRAINT issue_reports_issue_fkey REFERENCES issues ON DELETE CASCADE,
    run       uuid NOT NULL CONSTRAINT issue_reports_run_fkey REFERENCES runs,
    call_id   text NOT NULL,
    agent     text COLLATE "C" NOT NULL,
    summary   text NOT NULL,
    detail    text NOT NULL,
    severity  text NOT NULL,
    at        timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX issue_reports_issue_idx ON issue_reports (issue, id DESC);
