-- Operators name notes by their display path and read them in its order.
CREATE INDEX artifacts_path_idx ON artifacts (
    organisation,
    (CASE level WHEN 'org' THEN 'org/' || key ELSE level || '/' || owner || '/' || key END) COLLATE "C"
) WHERE kind IN ('note', 'memory');
