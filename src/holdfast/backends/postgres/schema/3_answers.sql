-- What a step answers, as JSON text that begins with the birth mark: replies.py reads it.

-- Show a grant without its secret.
CREATE FUNCTION holdfast.tenure(g holdfast.seats, a_now bigint) RETURNS json LANGUAGE sql STABLE
RETURN json_build_array(
    g.holder, g.token, g.weight, g.granted_at, greatest(0, g.ends_at - a_now), g.metadata,
    g.slots, g.broken, g.detached);

-- Show the first few who hold, or all.
CREATE FUNCTION holdfast.holders(a_prefix text, a_name text, a_now bigint, a_most integer) RETURNS text
LANGUAGE sql VOLATILE AS $$
    SELECT coalesce(json_agg(holdfast.tenure(g, a_now) ORDER BY (g).token)::text, '[]') FROM (
        SELECT s AS g FROM holdfast.seats AS s
        WHERE s.prefix = a_prefix AND s.name = a_name AND s.claim_id IS NOT NULL
            AND (s.ends_at > a_now OR s.claim_id = '')
        ORDER BY s.token LIMIT a_most
    ) AS held
$$;

-- When enough of what is held will have ended by itself for a_weight to fit; -1: not known. What is over
-- and pinned is looked at again a quarter of a second later: nobody is told when it is let go.
CREATE FUNCTION holdfast.retry_in(
    a_prefix text, a_name text, a_weight bigint, a_now bigint, a_held_back bigint
) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    n holdfast.seats;
    rest bigint;
    one record;
BEGIN
    IF a_held_back > 0 THEN
        RETURN a_held_back;
    END IF;
    SELECT * INTO n FROM holdfast.seats AS s
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = 0;
    rest := holdfast.free(n);
    FOR one IN
        SELECT s.weight, s.ends_at FROM holdfast.seats AS s
        WHERE s.prefix = a_prefix AND s.name = a_name AND s.claim_id IS NOT NULL
        ORDER BY s.ends_at, s.token
    LOOP
        rest := rest + one.weight;
        IF rest >= a_weight THEN
            RETURN CASE WHEN one.ends_at <= a_now THEN 250000 ELSE one.ends_at - a_now END;
        END IF;
    END LOOP;
    RETURN -1;
END $$;

-- The claims ahead of which everybody is passed over, as {id: when asking again may help}.
CREATE FUNCTION holdfast.next_ones(a_prefix text, a_name text, a_now bigint, a_held_back bigint)
RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    w record;
    found jsonb := '{}';
BEGIN
    FOR w IN
        SELECT q.claim_id, q.weight, q.inbox FROM holdfast.waiters AS q
        WHERE q.prefix = a_prefix AND q.name = a_name ORDER BY q.place
    LOOP
        found := found || jsonb_build_object(
            w.claim_id, holdfast.retry_in(a_prefix, a_name, w.weight, a_now, a_held_back));
        EXIT WHEN holdfast.is_open(w.inbox);
    END LOOP;
    RETURN found;
END $$;

-- A grant, as most replies have it: built by hand, because it is.
CREATE FUNCTION holdfast.granted(a_token bigint, a_left bigint, a_since bigint, a_slots integer[])
RETURNS text LANGUAGE sql STABLE
RETURN '[' || holdfast.birth()::text || ',"g",' || a_token::text || ',' || a_left::text || ','
    || a_since::text
    || CASE WHEN a_slots IS NULL THEN ']' ELSE ',[' || array_to_string(a_slots, ',') || ']]' END;

-- Say where a claim stands.
CREATE FUNCTION holdfast.standing(
    a_prefix text, a_name text, a_id text, a_now bigint, a_held_back bigint
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    g holdfast.seats;
BEGIN
    SELECT * INTO g FROM holdfast.seats AS s
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.claim_id = a_id;
    IF FOUND THEN
        RETURN holdfast.granted(g.token, g.ends_at - a_now, g.granted_at, g.slots);
    END IF;
    PERFORM FROM holdfast.waiters AS w
    WHERE w.prefix = a_prefix AND w.name = a_name AND w.claim_id = a_id;
    IF FOUND THEN
        RETURN '[' || holdfast.birth() || ',"w",'
            || coalesce(holdfast.next_ones(a_prefix, a_name, a_now, a_held_back) ->> a_id, '-1') || ','
            || holdfast.holders(a_prefix, a_name, a_now, 8) || ']';
    END IF;
    SELECT * INTO g FROM holdfast.seats AS s
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = 0;
    RETURN holdfast.ended(a_prefix, a_name, holdfast.fate(g.ended, a_id, a_now), a_now);
END $$;

-- Say how a claim ended; 'u' is unknown.
CREATE FUNCTION holdfast.ended(a_prefix text, a_name text, a_how text, a_now bigint) RETURNS text
LANGUAGE sql VOLATILE AS $$
    SELECT '[' || holdfast.birth() || ',"e","' || coalesce(a_how, 'u') || '",'
        || holdfast.holders(a_prefix, a_name, a_now, 8) || ']'
$$;

-- Show one name as it stands, changing nothing.
CREATE FUNCTION holdfast.look(a_prefix text, a_name text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    n holdfast.seats;
    moment bigint := holdfast.clock();
    line text;
BEGIN
    SELECT * INTO n FROM holdfast.seats AS s
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = 0;
    SELECT json_agg(json_build_array(w.holder, w.weight, w.joined_at) ORDER BY w.place)::text INTO line
    FROM holdfast.waiters AS w
    WHERE w.prefix = a_prefix AND w.name = a_name AND w.patience_until > moment;
    RETURN '[' || holdfast.birth() || ',"s",' || to_json(a_name) || ',"' || coalesce(n.kind, 'lock') || '",'
        || coalesce(n.capacity, 1) || ',' || coalesce(n.last_token, 0) || ','
        || holdfast.holders(a_prefix, a_name, moment, NULL) || ',' || coalesce(line, '[]') || ']';
END $$;

-- Show the names in use that begin with a_beginning, after a_after, in the order of their bytes.
CREATE FUNCTION holdfast.list(a_prefix text, a_beginning text, a_after text, a_limit integer) RETURNS text
LANGUAGE sql VOLATILE AS $$
    SELECT '[' || holdfast.birth() || ',"l",[' || coalesce(string_agg(seen, ',' ORDER BY name), '') || ']]' FROM (
        SELECT s.name, holdfast.look(a_prefix, s.name) AS seen FROM holdfast.seats AS s
        WHERE s.prefix = a_prefix AND s.seat = 0 AND s.name > a_after AND s.name >= a_beginning
            AND starts_with(s.name, a_beginning) AND (s.taken > 0 OR s.waiting > 0)
        ORDER BY s.name LIMIT a_limit
    ) AS found
$$;
