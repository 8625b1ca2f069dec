-- Each run has a token that opens its MCP face and nothing else.
--
-- The token is made from the run's id, this salt and the key file of the replicas,
-- so that a start that is sent again answers the same one and no token is stored.
-- A version that does not know the column leaves the default to fill it.
ALTER TABLE runs ADD COLUMN token_salt uuid NOT NULL DEFAULT gen_random_uuid();
