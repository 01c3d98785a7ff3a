-- Records and buckets: rules/record.py and rules/bucket.py. One row each, one function per request.

-- What came of an id, in a text of rules/recent.py; NULL if that is not remembered.
CREATE FUNCTION holdfast.outcome(a_text text, a_id text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    at integer := strpos(';' || a_text, ';' || a_id || ' ');
BEGIN
    RETURN CASE WHEN at > 0 THEN split_part(substr(a_text, at + length(a_id) + 1), ';', 1) END;
END $$;

-- Add an id at the end; also give what came of the last that had to go for it.
CREATE FUNCTION holdfast.remembered(a_text text, a_id text, a_what text, a_longest integer, OUT kept text, OUT forgotten text)
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    kept := a_text || a_id || ' ' || a_what || ';';
    WHILE length(kept) > a_longest LOOP
        forgotten := split_part(split_part(kept, ';', 1), ' ', 2);
        kept := substr(kept, strpos(kept, ';') + 1);
    END LOOP;
END $$;

-- A record as far as it still counts: blank, only its version does.
CREATE FUNCTION holdfast.known(k holdfast.records, a_now bigint) RETURNS holdfast.records
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF k.swaps IS NULL OR k.swaps = '' OR a_now >= k.ends_at + 60000000 THEN
        k.value := NULL;
        k.ends_at := NULL;
        k.fence := 0;
        k.swaps := '';
        k.dropped := 0;
        k.version := coalesce(k.version, 0);
    END IF;
    RETURN k;
END $$;

-- A record as it is shown: value, version, time left, fence, now.
CREATE FUNCTION holdfast.entry(k holdfast.records, a_now bigint) RETURNS json LANGUAGE sql STABLE
RETURN CASE WHEN k.value IS NULL OR k.ends_at <= a_now
    THEN json_build_array(NULL, 0, NULL, k.fence, a_now)
    ELSE json_build_array(encode(k.value, 'base64'), k.version, k.ends_at - a_now, k.fence, a_now) END;

-- In a quarantine nothing is told: what this server may have forgotten is not known to be absent.
CREATE FUNCTION holdfast.withheld(a_held_back bigint) RETURNS text LANGUAGE sql STABLE
RETURN '[' || holdfast.birth() || ',"h",' || a_held_back || ']';

CREATE FUNCTION holdfast.record_get(a_prefix text, a_quarantine bigint, a_space text, a_name text)
RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    k holdfast.records;
    moment bigint := holdfast.clock();
    held_back bigint := holdfast.held_back(a_quarantine, moment);
BEGIN
    IF held_back > 0 THEN
        RETURN holdfast.withheld(held_back);
    END IF;
    SELECT * INTO k FROM holdfast.records AS r
    WHERE r.prefix = a_prefix AND r.name = a_name AND r.space = a_space;
    RETURN '[' || holdfast.birth() || ',"t",' || holdfast.entry(holdfast.known(k, moment), moment) || ']';
END $$;

-- Put a value in the place of the version that was seen, or delete it (NULL).
CREATE FUNCTION holdfast.record_swap(
    a_prefix text, a_quarantine bigint, a_space text, a_name text, a_id text, a_value bytea,
    a_if_version bigint, a_keep bigint, a_fence bigint
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    stored holdfast.records;
    k holdfast.records;
    is_there boolean;
    moment bigint;
    held_back bigint;
    done text;
    seen bigint;
    ends bigint;
    later record;
BEGIN
    IF length(a_value) > 1048576 THEN
        RETURN holdfast.refused('value', length(a_value) || ' bytes are more than the 1048576 of a value');
    END IF;
    IF NOT (a_keep > 0 AND a_keep <= 3153600000000000) THEN
        RETURN holdfast.refused('keep', 'a value lives for more than nothing and at most a hundred years');
    END IF;
    LOOP
        SELECT * INTO stored FROM holdfast.records AS r
        WHERE r.prefix = a_prefix AND r.name = a_name AND r.space = a_space FOR NO KEY UPDATE;
        is_there := FOUND;
        moment := holdfast.clock();
        held_back := holdfast.held_back(a_quarantine, moment);
        IF held_back > 0 THEN
            RETURN holdfast.withheld(held_back);
        END IF;
        k := holdfast.known(stored, moment);
        done := holdfast.outcome(k.swaps, a_id);
        IF done IS NOT NULL THEN
            RETURN '[' || holdfast.birth() || ',"p",' || done || ',' || moment || ']';
        END IF;
        seen := CASE WHEN k.value IS NULL OR k.ends_at <= moment THEN 0 ELSE k.version END;
        IF (a_fence > 0 AND a_fence < k.fence) OR a_if_version <> seen THEN
            RETURN json_build_array(
                holdfast.birth(), 'm',
                CASE WHEN a_fence > 0 AND a_fence < k.fence THEN 'fence' ELSE 'version' END,
                holdfast.entry(k, moment), k.swaps <> '' AND a_if_version >= k.dropped)::text;
        END IF;
        k.version := greatest(k.version + 1, moment);
        later := holdfast.remembered(k.swaps, a_id, k.version::text, 2048);
        ends := CASE WHEN a_keep IS NOT NULL THEN moment + a_keep WHEN a_value IS NULL THEN moment END;
        IF is_there THEN
            UPDATE holdfast.records AS r SET
                version = k.version, value = a_value, ends_at = ends, fence = greatest(k.fence, a_fence),
                swaps = later.kept, dropped = coalesce(later.forgotten::bigint, k.dropped),
                forget_on = ((ends + 60000000) / 3600000000)::integer
            WHERE r.prefix = a_prefix AND r.name = a_name AND r.space = a_space;
            EXIT;
        END IF;
        INSERT INTO holdfast.records AS r
        VALUES (a_prefix, a_name, a_space, k.version, a_value, ends, a_fence, later.kept,
            coalesce(later.forgotten::bigint, 0), ((ends + 60000000) / 3600000000)::integer)
        ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND;  -- else somebody else was quicker: look again
    END LOOP;
    IF NOT is_there THEN  -- whoever makes a new one takes away up to three that are over
        DELETE FROM holdfast.records AS r USING (
            SELECT o.prefix, o.name, o.space FROM holdfast.records AS o
            WHERE o.forget_on < (moment / 3600000000)::integer
            ORDER BY o.forget_on LIMIT 3 FOR UPDATE SKIP LOCKED
        ) AS idle
        WHERE r.prefix = idle.prefix AND r.name = idle.name AND r.space = idle.space;
    END IF;
    RETURN '[' || holdfast.birth() || ',"p",' || k.version || ',' || moment || ']';
END $$;

-- What is owed in a bucket by now: time works it off; a clock that was set back works off nothing.
CREATE FUNCTION holdfast.still_owed(b holdfast.buckets, a_now bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN CASE
    WHEN b.owed IS NULL OR greatest(0, a_now - b.at) >= (b.owed + b.amount - 1) / b.amount THEN 0
    ELSE b.owed - greatest(0, a_now - b.at) * b.amount END;

-- Take permits, or reserve the next ones.
CREATE FUNCTION holdfast.bucket_take(
    a_prefix text, a_quarantine bigint, a_space text, a_name text, a_id text, a_permits bigint,
    a_amount bigint, a_period bigint, a_burst bigint, a_wait bigint, a_adopt boolean
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    most constant bigint := 4503599627370496;
    b holdfast.buckets;
    is_there boolean;
    moment bigint;
    owed bigint;
    takes text;
    changed boolean;
    room bigint;
    done text;
    ready_in bigint;
    reply text;
BEGIN
    IF least(a_amount, a_period, a_burst) < 1 OR greatest(a_burst::numeric * a_period, a_amount) > most THEN
        RETURN holdfast.refused('terms', '');
    END IF;
    IF a_permits < 1 OR a_permits > a_burst THEN
        RETURN holdfast.refused('permits',
            format('%s of %s can never be had at once', a_permits, a_burst));
    END IF;
    room := a_burst * a_period;
    LOOP
        SELECT * INTO b FROM holdfast.buckets AS s
        WHERE s.prefix = a_prefix AND s.name = a_name AND s.space = a_space FOR NO KEY UPDATE;
        is_there := FOUND;
        moment := holdfast.clock();
        owed := holdfast.still_owed(b, moment);
        takes := CASE WHEN owed > 0 THEN b.takes ELSE '' END;
        changed := is_there AND b.at > moment;  -- a clock that was set back is followed
        IF owed = 0 THEN
            changed := true;
            IF NOT is_there AND holdfast.held_back(a_quarantine, moment) > 0 THEN
                owed := room;  -- what is not known counts as spent
            END IF;
        ELSIF (b.amount, b.period, b.burst) <> (a_amount, a_period, a_burst) THEN
            IF NOT a_adopt THEN
                RETURN '[' || holdfast.birth() || ',"r","terms",['
                    || concat_ws(',', b.amount, b.period, b.burst) || ']]';
            END IF;
            changed := true;
            owed := least(((owed + b.period - 1) / b.period)::numeric * a_period, most);
        END IF;
        done := holdfast.outcome(takes, a_id);
        IF done IS NOT NULL THEN  -- asked again: nobody waits longer than the last in line
            ready_in := greatest(0, least(split_part(done, ' ', 1)::bigint - moment,
                (greatest(0, owed - room) + a_amount - 1) / a_amount));
            reply := 'o';
        ELSE
            ready_in := (greatest(0, owed + a_permits * a_period - room) + a_amount - 1) / a_amount;
            reply := 'c';
            IF ready_in <= a_wait AND owed + a_permits * a_period <= most THEN
                owed := owed + a_permits * a_period;
                takes := (holdfast.remembered(takes, a_id, (moment + ready_in) || ' ' || a_permits, 1024)).kept;
                changed := true;
                reply := 'o';
            END IF;
        END IF;
        EXIT WHEN NOT changed OR holdfast.put_bucket(
            (a_prefix, a_name, a_space, a_amount, a_period, a_burst, owed, moment, takes, 0), is_there);
    END LOOP;
    RETURN '[' || holdfast.birth() || ',"' || reply || '",' || ready_in || ','
        || greatest(0, room - owed) / a_period || ']';
END $$;

-- Write a bucket; false if somebody else was quicker to make it.
CREATE FUNCTION holdfast.put_bucket(b holdfast.buckets, a_is_there boolean) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    b.forget_on := ((b.at + (b.owed + b.amount - 1) / b.amount) / 3600000000)::integer + 1;
    IF a_is_there THEN
        UPDATE holdfast.buckets AS s SET
            amount = b.amount, period = b.period, burst = b.burst, owed = b.owed, at = b.at,
            takes = b.takes, forget_on = b.forget_on
        WHERE s.prefix = b.prefix AND s.name = b.name AND s.space = b.space;
        RETURN true;
    END IF;
    INSERT INTO holdfast.buckets SELECT b.* ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM holdfast.buckets AS s USING (
        SELECT o.prefix, o.name, o.space FROM holdfast.buckets AS o
        WHERE o.forget_on < (b.at / 3600000000)::integer
        ORDER BY o.forget_on LIMIT 3 FOR UPDATE SKIP LOCKED
    ) AS idle
    WHERE s.prefix = idle.prefix AND s.name = idle.name AND s.space = idle.space;
    RETURN true;
END $$;

-- Undo a take that was not used, if it is the last.
CREATE FUNCTION holdfast.bucket_give_back(
    a_prefix text, a_space text, a_name text, a_id text
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    b holdfast.buckets;
    moment bigint;
    owed bigint;
    done text;
    rest text;
    how text;
BEGIN
    SELECT * INTO b FROM holdfast.buckets AS s
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.space = a_space FOR NO KEY UPDATE;
    moment := holdfast.clock();
    owed := holdfast.still_owed(b, moment);
    done := CASE WHEN owed > 0 THEN holdfast.outcome(b.takes, a_id) END;
    rest := left(b.takes, -length(a_id || ' ' || done || ';'));
    IF done IS NULL THEN
        how := 'unknown';
    ELSIF b.takes <> rest || a_id || ' ' || done || ';' OR right(rest, 1) NOT IN ('', ';') THEN
        how := 'kept';
    ELSE
        how := 'undone';
        owed := owed - split_part(done, ' ', 2)::bigint * b.period;
        IF owed > 0 THEN
            PERFORM holdfast.put_bucket((a_prefix, a_name, a_space, b.amount, b.period, b.burst, owed,
                moment, rest, 0), true);
        ELSE
            DELETE FROM holdfast.buckets AS s
            WHERE s.prefix = a_prefix AND s.name = a_name AND s.space = a_space;
        END IF;
    END IF;
    RETURN '[' || holdfast.birth() || ',"v","' || how || '"]';
END $$;
