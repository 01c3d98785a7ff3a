-- The moves of which a step on one name is made: rules/desk.py. Whoever calls them has locked seat 0.

-- The hour in which a name may go if nobody touches it any more: a day after its last grant ends.
CREATE FUNCTION holdfast.forgettable(a_at bigint) RETURNS integer LANGUAGE sql IMMUTABLE
RETURN (a_at / 3600000000)::integer + 25;

-- Forget those whose minute is over.
CREATE FUNCTION holdfast.pruned(a_ended text, a_now bigint) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    kept text := a_ended;
BEGIN
    WHILE kept <> '' AND substr(kept, strpos(kept, ' ') + 2, 13)::bigint * 1000 <= a_now LOOP
        kept := substr(kept, strpos(kept, ';') + 1);
    END LOOP;
    RETURN kept;
END $$;

-- Remember for a minute how an id ended, the newest 64 (of 32 bytes each): rules/tombstones.py. Numbers are
-- cast by hand in functions like this one: only so can they be put into the place of their call.
CREATE FUNCTION holdfast.buried(a_ended text, a_id text, a_how text, a_now bigint) RETURNS text
LANGUAGE sql STABLE
RETURN CASE
    WHEN a_ended = '' THEN ''
    WHEN substr(a_ended, strpos(a_ended, ' ') + 2, 13)::bigint * 1000 <= a_now
        THEN holdfast.pruned(a_ended, a_now)
    WHEN octet_length(a_ended) >= 2048 THEN substr(a_ended, strpos(a_ended, ';') + 1)
    ELSE a_ended
END || a_id || ' ' || a_how || ((a_now + 60000000) / 1000)::text || ';';

-- Say how an id ended, or NULL if that is not remembered.
CREATE FUNCTION holdfast.fate(a_ended text, a_id text, a_now bigint) RETURNS text
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    at integer := strpos(';' || a_ended, ';' || a_id || ' ');
    rest text := a_ended;
    found text;
BEGIN
    WHILE at > 0 LOOP
        rest := substr(rest, at + length(a_id) + 1);
        found := split_part(rest, ';', 1);
        IF substr(found, 2)::bigint * 1000 > a_now THEN
            RETURN left(found, 1);
        END IF;
        at := strpos(rest, ';' || a_id || ' ');
        IF at > 0 THEN
            at := at + 1;
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

-- Whether this session listens to an inbox: its own lock is no hindrance to itself.
CREATE FUNCTION holdfast.is_own(a_inbox text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM pg_listening_channels() AS own WHERE own = a_inbox);
END $$;

-- Whether somebody listens to an inbox. A listening session holds a shared advisory lock under the client's
-- number. What is not known counts as open: a question mark says that its client was still about to listen.
CREATE FUNCTION holdfast.is_open(a_inbox text) RETURNS boolean LANGUAGE sql VOLATILE
RETURN CASE
    WHEN a_inbox = '' OR right(a_inbox, 1) = '?' THEN true
    -- Got by trying: nobody else has it. It is given back in the same breath, for a statement that is cancelled
    -- in between would leave this session with it, and the client could never listen again.
    WHEN pg_try_advisory_lock(('x' || right(a_inbox, 16))::bit(64)::bigint) THEN CASE
        WHEN pg_advisory_unlock(('x' || right(a_inbox, 16))::bit(64)::bigint) THEN holdfast.is_own(a_inbox)
    END
    ELSE true
END;

-- Leave a notice for a grant's client; it goes out with the commit. What is too long is asked for instead.
CREATE FUNCTION holdfast.tell(a_what text, g holdfast.seats, a_life bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    words text;
BEGIN
    IF g.inbox <> '' THEN
        words := concat_ws(E'\x1f', 1, a_what, g.claim_id, g.token, a_life, g.granted_at,
            coalesce(array_to_string(g.slots, ','), ''), g.name, g.broken);
        IF octet_length(words) > 7900 THEN
            words := E'1\x1fmissed';
        END IF;
        PERFORM pg_notify(rtrim(g.inbox, '?'), words);
    END IF;
END $$;

-- Free a seat whose claim has ended; if a transaction has pinned it, it stays taken, by nobody.
CREATE FUNCTION holdfast.vacate(a_prefix text, a_name text, a_seat integer, a_now bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM FROM holdfast.seats AS s
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = a_seat
    FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE holdfast.seats AS s SET claim_id = NULL
        WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = a_seat;
        UPDATE holdfast.seats AS s SET taken = s.taken - 1
        WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = 0;
    ELSE
        UPDATE holdfast.seats AS s SET claim_id = '', ends_at = least(s.ends_at, a_now)
        WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = a_seat;
    END IF;
END $$;

-- Remember how one claim ended.
CREATE FUNCTION holdfast.bury(a_prefix text, a_name text, a_id text, a_how text, a_now bigint)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE holdfast.seats AS s SET
        ended = holdfast.buried(s.ended, a_id, a_how, a_now),
        forget_on = greatest(s.forget_on, holdfast.forgettable(a_now))
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = 0;
END $$;

-- Drop what has ended: by time, by lost patience. Try again to free what was pinned.
CREATE FUNCTION holdfast.sweep(n holdfast.seats, a_now bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    one record;
    floor bigint;
BEGIN
    IF n.taken > 0 THEN
        FOR one IN
            SELECT s.seat, s.claim_id, s.broken FROM holdfast.seats AS s
            WHERE s.prefix = n.prefix AND s.name = n.name
                AND s.claim_id IS NOT NULL AND s.ends_at <= a_now
            ORDER BY s.token
        LOOP
            PERFORM holdfast.vacate(n.prefix, n.name, one.seat, a_now);
            IF one.claim_id <> '' THEN
                PERFORM holdfast.bury(n.prefix, n.name, one.claim_id,
                    CASE WHEN one.broken = '' THEN 'l' ELSE 'b' END, a_now);
            END IF;
        END LOOP;
    END IF;
    IF n.waiting > 0 AND n.patience_floor <= a_now THEN
        FOR one IN
            SELECT w.claim_id FROM holdfast.waiters AS w
            WHERE w.prefix = n.prefix AND w.name = n.name AND w.patience_until <= a_now
            ORDER BY w.place
        LOOP
            PERFORM holdfast.leave(n.prefix, n.name, one.claim_id);
            PERFORM holdfast.bury(n.prefix, n.name, one.claim_id, 'l', a_now);
        END LOOP;
        SELECT min(w.patience_until) INTO floor FROM holdfast.waiters AS w
        WHERE w.prefix = n.prefix AND w.name = n.name;
        UPDATE holdfast.seats AS s SET patience_floor = coalesce(floor, 0)
        WHERE s.prefix = n.prefix AND s.name = n.name AND s.seat = 0;
    END IF;
END $$;

-- Leave the queue.
CREATE FUNCTION holdfast.leave(a_prefix text, a_name text, a_id text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM holdfast.waiters AS w
    WHERE w.prefix = a_prefix AND w.name = a_name AND w.claim_id = a_id;
    UPDATE holdfast.seats AS s SET waiting = s.waiting - 1
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = 0;
END $$;

-- The lowest slots that nobody has, as many as asked for.
CREATE FUNCTION holdfast.free_slots(a_prefix text, a_name text, a_capacity bigint, a_weight bigint)
RETURNS integer[] LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    used integer[];
BEGIN
    SELECT array_agg(slot) INTO used FROM holdfast.seats AS s, unnest(s.slots) AS slot
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.claim_id IS NOT NULL;
    RETURN ARRAY(
        SELECT slot FROM (SELECT generate_series(0, a_capacity::integer - 1) AS slot) AS every
        WHERE used IS NULL OR slot <> ALL (used)
        LIMIT a_weight);
END $$;

-- Let a claim (as a waiter's row) hold for a_life, with a token larger than every earlier one.
CREATE FUNCTION holdfast.give(w holdfast.waiters, a_life bigint, a_now bigint) RETURNS holdfast.seats
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    n holdfast.seats;
    g holdfast.seats;
    free integer;
    larger bigint;
BEGIN
    SELECT * INTO n FROM holdfast.seats AS s
    WHERE s.prefix = w.prefix AND s.name = w.name AND s.seat = 0;
    larger := greatest(n.last_token + 1, a_now, w.seen_token + 1);
    SELECT s.seat INTO free FROM holdfast.seats AS s
    WHERE s.prefix = w.prefix AND s.name = w.name AND s.claim_id IS NULL ORDER BY s.seat LIMIT 1;
    IF NOT FOUND THEN
        INSERT INTO holdfast.seats (prefix, name, seat)
        SELECT w.prefix, w.name, max(s.seat) + 1 FROM holdfast.seats AS s
        WHERE s.prefix = w.prefix AND s.name = w.name
        RETURNING seat INTO free;
    END IF;
    UPDATE holdfast.seats AS s SET
        last_token = larger, taken = s.taken + 1,
        forget_on = greatest(s.forget_on, holdfast.forgettable(a_now + a_life))
    WHERE s.prefix = w.prefix AND s.name = w.name AND s.seat = 0;
    UPDATE holdfast.seats AS s SET
        claim_id = w.claim_id, token = larger, ends_at = a_now + a_life, granted_at = a_now,
        weight = w.weight, ttl = w.ttl, inbox = w.inbox, holder = w.holder, metadata = w.metadata,
        detached = w.detached, broken = '',
        slots = CASE WHEN n.kind = 'semaphore'
            THEN holdfast.free_slots(w.prefix, w.name, n.capacity, w.weight) END
    WHERE s.prefix = w.prefix AND s.name = w.name AND s.seat = free
    RETURNING s.* INTO g;
    RETURN g;
END $$;

-- How much of the capacity nobody has.
CREATE FUNCTION holdfast.free(n holdfast.seats) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT n.capacity - coalesce(sum(s.weight), 0)::bigint FROM holdfast.seats AS s
    WHERE s.prefix = n.prefix AND s.name = n.name AND s.claim_id IS NOT NULL
$$;

-- Grant what fits from the head of the queue on. a_asking are the claims that the asker itself named: they
-- count as reachable and get their full life at once, since the reply tells them.
CREATE FUNCTION holdfast.hand_over(
    a_prefix text, a_name text, a_asking text[], a_now bigint, a_held_back bigint
) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    n holdfast.seats;
    w holdfast.waiters;
    g holdfast.seats;
    rest bigint;
    asked boolean;
    life bigint;
BEGIN
    SELECT * INTO n FROM holdfast.seats AS s
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = 0;
    IF n.waiting = 0 OR a_held_back > 0 THEN
        RETURN;
    END IF;
    rest := holdfast.free(n);
    IF rest <= 0 THEN
        RETURN;
    END IF;
    FOR w IN
        SELECT * FROM holdfast.waiters AS q WHERE q.prefix = a_prefix AND q.name = a_name ORDER BY q.place
    LOOP
        asked := w.claim_id = ANY (a_asking);
        CONTINUE WHEN NOT asked AND NOT holdfast.is_open(w.inbox);  -- passed over, not dropped
        EXIT WHEN w.weight > rest;  -- nobody passes a living waiter
        rest := rest - w.weight;
        life := CASE WHEN asked THEN w.ttl ELSE least(3000000, w.ttl) END;
        PERFORM holdfast.leave(a_prefix, a_name, w.claim_id);
        g := holdfast.give(w, life, a_now);
        IF NOT asked THEN
            PERFORM holdfast.tell('granted', g, life);
        END IF;
        EXIT WHEN rest <= 0;
    END LOOP;
END $$;
