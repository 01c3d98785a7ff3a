-- Rows as JSON, holders before those in line, in the order in which they are served.
CREATE FUNCTION holdfast_advisory.row_of(e holdfast_advisory.explained) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_array(e.key::text, e.paired, e.pid, e.granted, e.shared, e.token, e.prefix, e.name, e.kind,
        e.capacity, e.weight, e.since, e.remaining, e.holder, e.metadata, e.broken, e.application_name, e.address)
$$;

CREATE FUNCTION holdfast_advisory.standing(a_key bigint) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT coalesce(
        json_agg(holdfast_advisory.row_of(e) ORDER BY e.granted DESC, e.waitstart, e.token), '[]')
    FROM holdfast_advisory.explained e WHERE e.key = a_key AND NOT e.paired
$$;

CREATE FUNCTION holdfast_advisory.look(a_key bigint) RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_array(pg_backend_pid(), 'seen', holdfast_advisory.standing(a_key))
$$;

-- All names of a prefix, and with foreign all that other programs have locked, except what belongs to holdfast itself.
CREATE FUNCTION holdfast_advisory.listing(a_prefix text, a_start text, a_foreign boolean)
RETURNS json LANGUAGE sql STABLE AS $$
    SELECT json_build_array(pg_backend_pid(), 'seen', coalesce(
        json_agg(holdfast_advisory.row_of(e) ORDER BY e.granted DESC, e.waitstart, e.token), '[]'))
    FROM holdfast_advisory.explained e
    WHERE (e.prefix = a_prefix AND starts_with(e.name, a_start))
        OR (a_foreign AND e.name IS NULL AND coalesce(e.application_name, '') NOT LIKE 'holdfast %')
$$;
