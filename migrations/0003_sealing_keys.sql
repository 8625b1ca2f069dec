-- Which keys seal: the rotation of a key needs one truth that every replica looks at.
--
-- A key joins when it first seals a value and is retired when a rotation has taken its
-- last row. Whoever seals holds the key's row in its transaction, so that no row comes to
-- be under a key that is being retired.

CREATE TABLE sealing_keys (
    -- The first 16 hexadecimal characters of the key's SHA-256; the key is nowhere here.
    id          text COLLATE "C" CONSTRAINT sealing_keys_pkey PRIMARY KEY,
    since       timestamptz NOT NULL DEFAULT now(),
    retired_at  timestamptz
);

CREATE INDEX secrets_key_idx ON secrets (key_id, id);
CREATE INDEX logins_key_idx ON logins (key_id, id) WHERE key_id IS NOT NULL;

-- A version names one state of an organisation's secrets for ever: from a sequence, as a
-- counter that a rollback takes back would name two.
CREATE SEQUENCE secrets_versions START 1;
CREATE OR REPLACE FUNCTION organisations_secrets_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE organisations SET secrets_version = nextval('secrets_versions')
     WHERE id = COALESCE(NEW.organisation, OLD.organisation);
    RETURN NULL;
END $$;
