-- Which notes belong to the operators' document: an export holds these, and leaves to the
-- agents what they write for themselves. An agent's later write changes the content, not this.
ALTER TABLE artifacts ADD COLUMN by_operator boolean NOT NULL DEFAULT false;
