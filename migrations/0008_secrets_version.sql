-- Only what redaction depends on makes the secrets of an organisation new: values and the names of their marks.
DROP TRIGGER secrets_changed ON secrets;
CREATE TRIGGER secrets_changed AFTER INSERT OR DELETE ON secrets
    FOR EACH ROW EXECUTE FUNCTION organisations_secrets_changed();
CREATE TRIGGER secrets_updated AFTER UPDATE ON secrets
    FOR EACH ROW WHEN ((OLD.organisation, OLD.name, OLD.key_id, OLD.sealed)
             IS DISTINCT FROM (NEW.organisation, NEW.name, NEW.key_id, NEW.sealed))
    EXECUTE FUNCTION organisations_secrets_changed();
DROP TRIGGER logins_changed ON logins;
CREATE TRIGGER logins_inserted AFTER INSERT ON logins
    FOR EACH ROW WHEN (NEW.sealed IS NOT NULL) EXECUTE FUNCTION organisations_secrets_changed();
CREATE TRIGGER logins_deleted AFTER DELETE ON logins
    FOR EACH ROW WHEN (OLD.sealed IS NOT NULL) EXECUTE FUNCTION organisations_secrets_changed();
CREATE TRIGGER logins_updated AFTER UPDATE ON logins
    FOR EACH ROW WHEN ((OLD.organisation, OLD.connector, OLD.key_id, OLD.sealed)
             IS DISTINCT FROM (NEW.organisation, NEW.connector, NEW.key_id, NEW.sealed))
    EXECUTE FUNCTION organisations_secrets_changed();
