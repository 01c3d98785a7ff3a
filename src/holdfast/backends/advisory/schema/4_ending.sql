-- Give one lock back; false in the answer: this session did not hold it.
CREATE FUNCTION holdfast_advisory.unlock(a_key bigint, a_shared boolean, a_token bigint, a_idle integer)
RETURNS json LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM holdfast_advisory.claims c
    WHERE c.pid = pg_backend_pid() AND c.key = a_key AND c.token = a_token;
    PERFORM holdfast_advisory.live_on(a_idle);
    RETURN json_build_array(pg_backend_pid(), 'unlocked', CASE WHEN a_shared
        THEN pg_advisory_unlock_shared(a_key) ELSE pg_advisory_unlock(a_key) END);
END
$$;

-- A sign of life; tells which grants of this session were broken.
CREATE FUNCTION holdfast_advisory.renew(a_idle integer) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
    PERFORM holdfast_advisory.live_on(a_idle);
    RETURN json_build_array(pg_backend_pid(), 'renewed', (
        SELECT coalesce(json_agg(json_build_array(c.token::text, c.broken)), '[]')
        FROM holdfast_advisory.claims c WHERE c.pid = pg_backend_pid() AND c.broken <> ''));
END
$$;

-- Show a longer life than the grant was asked for with.
CREATE FUNCTION holdfast_advisory.extend(a_token bigint, a_ttl integer) RETURNS json LANGUAGE plpgsql AS $$
BEGIN
    UPDATE holdfast_advisory.claims c SET ttl = a_ttl WHERE c.pid = pg_backend_pid() AND c.token = a_token;
    RETURN json_build_array(pg_backend_pid(), 'extended');
END
$$;

-- Let another session of this client stop waiting, if it does; then say who has the name.
CREATE FUNCTION holdfast_advisory.cancel(a_pid integer, a_key bigint) RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    waits boolean;
BEGIN
    FOR attempt IN 1..100 LOOP
        SELECT EXISTS (SELECT FROM holdfast_advisory.locks l
            WHERE l.pid = a_pid AND l.key = a_key AND NOT l.paired AND NOT l.granted) INTO waits;
        EXIT WHEN NOT waits;
        IF attempt = 1 THEN
            PERFORM pg_cancel_backend(a_pid);
        END IF;
        PERFORM pg_sleep(0.001);
    END LOOP;
    DELETE FROM holdfast_advisory.claims c WHERE c.pid = a_pid AND c.key = a_key AND c.token = 0;
    RETURN json_build_array(
        pg_backend_pid(), CASE WHEN waits THEN 'waits' ELSE 'left' END, holdfast_advisory.standing(a_key));
END
$$;

-- Mark a grant as broken and tell its holder.
CREATE FUNCTION holdfast_advisory.mark(a_key bigint, a_token bigint, a_reason text, a_force boolean)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    found_holder text;
    before json := holdfast_advisory.standing(a_key);
BEGIN
    SELECT e.holder INTO found_holder FROM holdfast_advisory.explained e
    WHERE e.key = a_key AND NOT e.paired AND e.token = a_token AND e.granted;
    IF NOT FOUND THEN
        RETURN json_build_array(pg_backend_pid(), 'free', before);
    END IF;
    UPDATE holdfast_advisory.claims c SET broken = a_reason WHERE c.key = a_key AND c.token = a_token;
    PERFORM pg_notify('holdfast_' || (found_holder::json ->> 0),
        json_build_array(a_token::text, a_reason, a_force)::text);
    RETURN json_build_array(pg_backend_pid(), 'marked', before);
END
$$;

-- By force: the holder has been told and lets go by itself if it is well; if not, its session is ended, with all it holds.
CREATE FUNCTION holdfast_advisory.evict(a_key bigint, a_token bigint, a_grace integer)
RETURNS json LANGUAGE plpgsql AS $$
DECLARE
    culprit integer;
    signalled boolean := false;
BEGIN
    FOR attempt IN 1..a_grace + 1000 LOOP
        culprit := NULL;
        SELECT e.pid INTO culprit FROM holdfast_advisory.explained e
        WHERE e.key = a_key AND NOT e.paired AND e.token = a_token AND e.granted;
        EXIT WHEN culprit IS NULL;
        IF attempt > a_grace AND NOT signalled THEN
            signalled := pg_terminate_backend(culprit);
        END IF;
        PERFORM pg_sleep(0.001);
    END LOOP;
    RETURN json_build_array(pg_backend_pid(), CASE WHEN culprit IS NULL THEN 'gone' ELSE 'stays' END);
END
$$;
