-- What makes schedules fire: when, from which draw, and what fired last.

-- Keys the draws of a window schedule; nobody is ever shown it. Two random UUIDs hold
-- 244 random bits, and need no extension.
ALTER TABLE schedules ADD COLUMN seed bytea NOT NULL
    DEFAULT decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');
-- The draw that `next_fire` comes from, so that nothing draws again: the local date on
-- which the window opens, in days since 1970-01-01, and minutes since 1970 UTC.
ALTER TABLE schedules ADD COLUMN plan_day integer;
ALTER TABLE schedules ADD COLUMN plan_minutes bigint[];
ALTER TABLE schedules ADD CONSTRAINT schedules_plan_check CHECK ((plan_day IS NULL) = (plan_minutes IS NULL));
-- From when the next fire keeps its distance: when the last one was due, or, when it came
-- late, when it came.
ALTER TABLE schedules ADD COLUMN last_fire timestamptz;

-- What is due, for any number of replicas.
CREATE INDEX schedules_due_idx ON schedules (next_fire, id) WHERE state = 'active';

-- The last fires of each schedule, kept bounded. A due time fires once.
CREATE TABLE schedule_fires (
    schedule  uuid NOT NULL CONSTRAINT schedule_fires_schedule_fkey REFERENCES schedules ON DELETE CASCADE,
    due_at    timestamptz NOT NULL,
    fired_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    late      boolean NOT NULL,
    CONSTRAINT schedule_fires_pkey PRIMARY KEY (schedule, due_at)
);
