-- What operators read page by page: each list walks an index in its own order.

CREATE INDEX runs_organisation_idx ON runs (organisation, created_at DESC, id DESC);

-- The past of one object, newest first.
CREATE INDEX audit_object_idx ON audit (organisation, kind, object, id DESC);

CREATE INDEX schedules_organisation_idx ON schedules (organisation, id);

CREATE INDEX records_deleted_idx ON records (collection, id) WHERE deleted_at IS NOT NULL;
