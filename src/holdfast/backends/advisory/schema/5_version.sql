-- Forget what sessions that are gone have left; each new session does.
CREATE FUNCTION holdfast_advisory.sweep() RETURNS void LANGUAGE sql AS $$
    DELETE FROM holdfast_advisory.claims c
    WHERE c.pid = pg_backend_pid() OR NOT EXISTS (SELECT FROM pg_catalog.pg_stat_activity a WHERE a.pid = c.pid)
$$;

CREATE FUNCTION holdfast_advisory.version() RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT 1 $$;

-- The oldest version of the program that this schema serves.
CREATE FUNCTION holdfast_advisory.serves() RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT 1 $$;
