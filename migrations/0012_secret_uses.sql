-- Where a secret was used: every call that was sent with it in the environment of a command,
-- so that an operator sees what a change of its value meets.
CREATE TABLE secret_uses (
    secret   uuid NOT NULL CONSTRAINT secret_uses_secret_fkey REFERENCES secrets ON DELETE CASCADE,
    at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    run      uuid NOT NULL,
    call_id  text COLLATE "C" NOT NULL,
    CONSTRAINT secret_uses_pkey PRIMARY KEY (run, call_id, secret),
    CONSTRAINT secret_uses_call_fkey FOREIGN KEY (run, call_id) REFERENCES calls ON DELETE CASCADE
);
CREATE INDEX secret_uses_secret_idx ON secret_uses (secret, at DESC);
