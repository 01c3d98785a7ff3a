-- Why a claim can never be right, or null. Names that share a number would exclude each other: that is said, not suffered.
CREATE FUNCTION holdfast_advisory.refusal(a_key bigint, a_prefix text, a_name text, a_kind text)
RETURNS json LANGUAGE plpgsql STABLE AS $$
DECLARE
    other holdfast_advisory.explained;
BEGIN
    IF NOT EXISTS (SELECT FROM holdfast_advisory.claims c WHERE c.key = a_key) THEN
        RETURN NULL;  -- most often; nobody looks at all locks of the server for that
    END IF;
    SELECT * INTO other FROM holdfast_advisory.explained e
    WHERE e.key = a_key AND NOT e.paired AND e.name IS NOT NULL
        AND (e.prefix, e.name, e.kind) IS DISTINCT FROM (a_prefix, a_name, a_kind)
    LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    ELSIF (other.prefix, other.name) IS DISTINCT FROM (a_prefix, a_name) THEN
        RETURN json_build_array(pg_backend_pid(), 'collision', other.prefix, other.name);
    END IF;
    RETURN json_build_array(pg_backend_pid(), 'kind', other.kind);
END
$$;

-- The number of a grant. Drawn while the lock is held, so whoever holds it later draws a larger one. A server that has
-- forgotten some (a fail-over) is taken beyond what the asker has seen: far beyond, since others draw meanwhile.
CREATE FUNCTION holdfast_advisory.token(a_seen bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    drawn bigint := nextval('holdfast_advisory.tokens');
BEGIN
    IF drawn <= a_seen THEN
        PERFORM pg_advisory_xact_lock(-7310868735423570292);
        drawn := nextval('holdfast_advisory.tokens');
        IF drawn <= a_seen THEN
            PERFORM setval('holdfast_advisory.tokens', greatest(a_seen, drawn) + 1000000);
            drawn := nextval('holdfast_advisory.tokens');
        END IF;
    END IF;
    RETURN drawn;
END
$$;

-- One try. again: this session holds the lock already, shared; PostgreSQL would let it in again past those in line.
CREATE FUNCTION holdfast_advisory.claim(
    a_key bigint, a_prefix text, a_name text, a_kind text, a_capacity integer, a_weight integer, a_ttl integer,
    a_holder text, a_metadata text, a_seen bigint, a_idle integer, a_again boolean
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    refused json := holdfast_advisory.refusal(a_key, a_prefix, a_name, a_kind);
    mine boolean := EXISTS (
        SELECT FROM holdfast_advisory.claims c WHERE c.key = a_key AND c.pid = pg_backend_pid());
    got boolean := false;
    drawn bigint;
    moment timestamptz;
BEGIN
    IF refused IS NOT NULL THEN
        RETURN refused;
    ELSIF NOT mine OR (a_again AND NOT EXISTS (
        SELECT FROM holdfast_advisory.locks l WHERE l.key = a_key AND NOT l.paired AND NOT l.granted))
    THEN
        got := CASE WHEN a_weight < a_capacity
            THEN pg_try_advisory_lock_shared(a_key) ELSE pg_try_advisory_lock(a_key) END;
    END IF;
    IF NOT got THEN
        RETURN json_build_array(pg_backend_pid(), 'busy', holdfast_advisory.standing(a_key));
    END IF;
    BEGIN
        drawn := holdfast_advisory.token(a_seen);
        moment := clock_timestamp();
        INSERT INTO holdfast_advisory.claims VALUES (a_key, pg_backend_pid(), drawn, a_prefix, a_name, a_kind,
            a_capacity, a_weight, moment, a_ttl, a_holder, a_metadata);
        PERFORM holdfast_advisory.live_on(a_idle);
        RETURN json_build_array(
            pg_backend_pid(), 'granted', drawn::text, extract(epoch FROM moment));
    EXCEPTION WHEN OTHERS OR query_canceled THEN  -- a session's lock is not rolled back
        IF a_weight < a_capacity THEN
            PERFORM pg_advisory_unlock_shared(a_key);
        ELSE
            PERFORM pg_advisory_unlock(a_key);
        END IF;
        RAISE;
    END;
END
$$;

-- The server ends this session when it hears nothing for so long (milliseconds; 0: never).
CREATE FUNCTION holdfast_advisory.live_on(a_idle integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('idle_session_timeout', a_idle::text, false);
END
$$;

-- Say who is going to wait on this session, where others can see it.
CREATE FUNCTION holdfast_advisory.register(
    a_key bigint, a_prefix text, a_name text, a_kind text, a_capacity integer, a_weight integer, a_ttl integer,
    a_holder text, a_metadata text, a_idle integer
) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    refused json := holdfast_advisory.refusal(a_key, a_prefix, a_name, a_kind);
BEGIN
    IF refused IS NOT NULL THEN
        RETURN refused;
    END IF;
    DELETE FROM holdfast_advisory.claims c WHERE c.pid = pg_backend_pid();
    INSERT INTO holdfast_advisory.claims VALUES (a_key, pg_backend_pid(), 0, a_prefix, a_name, a_kind,
        a_capacity, a_weight, clock_timestamp(), a_ttl, a_holder, a_metadata);
    PERFORM holdfast_advisory.live_on(a_idle);
    RETURN json_build_array(pg_backend_pid(), 'registered');
END
$$;

-- Stand in PostgreSQL's own queue. Whoever asks throws the session away if this fails: it holds nothing else.
CREATE FUNCTION holdfast_advisory.wait(a_key bigint, a_shared boolean, a_seen bigint)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    drawn bigint;
    moment timestamptz;
BEGIN
    IF a_shared THEN
        PERFORM pg_advisory_lock_shared(a_key);
    ELSE
        PERFORM pg_advisory_lock(a_key);
    END IF;
    drawn := holdfast_advisory.token(a_seen);
    moment := clock_timestamp();
    UPDATE holdfast_advisory.claims c SET token = drawn, since = moment
    WHERE c.pid = pg_backend_pid() AND c.key = a_key;
    RETURN json_build_array(pg_backend_pid(), 'granted', drawn::text, extract(epoch FROM moment));
END
$$;

-- See that another session of this client stands in line, or has the lock already: only then is its place its own.
CREATE FUNCTION holdfast_advisory.arrived(a_pid integer, a_key bigint) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    there boolean;
BEGIN
    FOR attempt IN 1..1000 LOOP
        SELECT EXISTS (SELECT FROM holdfast_advisory.locks l
            WHERE l.pid = a_pid AND l.key = a_key AND NOT l.paired) INTO there;
        EXIT WHEN there;
        PERFORM pg_sleep(0.001);
    END LOOP;
    RETURN json_build_array(pg_backend_pid(), 'arrived', there);
END
$$;
