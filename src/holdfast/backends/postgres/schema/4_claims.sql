-- One function per request on a name: rules/claim.py, which is the specification. Each first locks seat 0,
-- then reads the clock. What most calls need comes first, in two statements; the rest is made of moves.

-- Lock a name, making its row if there is none.
CREATE FUNCTION holdfast.take_up(a_prefix text, a_name text) RETURNS holdfast.seats
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    n holdfast.seats;
BEGIN
    LOOP
        SELECT * INTO n FROM holdfast.seats AS s
        WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = 0 FOR NO KEY UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO holdfast.seats (prefix, name, seat, forget_on)
        VALUES (a_prefix, a_name, 0, holdfast.forgettable(holdfast.clock()))
        ON CONFLICT DO NOTHING;
        PERFORM holdfast.forget_names();
    END LOOP;
    RETURN n;
END $$;

-- Whether there is nothing at all to know of a name: then there is nothing to step, and no row to make.
CREATE FUNCTION holdfast.is_new(a_prefix text, a_name text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM FROM holdfast.seats AS s WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = 0;
    RETURN NOT FOUND;
END $$;

-- Whoever makes a new name takes away up to three that nobody has used for a day.
CREATE FUNCTION holdfast.forget_names() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    moment bigint := holdfast.clock();
    n holdfast.seats;
BEGIN
    FOR n IN
        SELECT * FROM holdfast.seats AS s
        WHERE s.forget_on < (moment / 3600000000)::integer
        ORDER BY s.forget_on LIMIT 3 FOR UPDATE SKIP LOCKED
    LOOP
        PERFORM holdfast.sweep(n, moment);
        DELETE FROM holdfast.seats AS s
        WHERE s.prefix = n.prefix AND s.name = n.name AND NOT EXISTS (
            SELECT FROM holdfast.seats AS t
            WHERE t.prefix = n.prefix AND t.name = n.name AND (t.taken > 0 OR t.waiting > 0));
    END LOOP;
END $$;

-- Put a new claim at the end of the queue.
CREATE FUNCTION holdfast.enqueue(w holdfast.waiters) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO holdfast.waiters SELECT w.*;
    UPDATE holdfast.seats AS s SET
        waiting = s.waiting + 1, joins = s.joins + 1,
        patience_floor = CASE WHEN s.waiting = 0 THEN w.patience_until
            ELSE least(s.patience_floor, w.patience_until) END,
        forget_on = greatest(s.forget_on, holdfast.forgettable(w.patience_until))
    WHERE s.prefix = w.prefix AND s.name = w.name AND s.seat = 0;
END $$;

-- Answer a claim for which there is no room, where the grant on seat 0 is all there is: it waits, or is told
-- that it is busy. NULL where that is not so simple.
CREATE FUNCTION holdfast.line_up(n holdfast.seats, w holdfast.waiters, a_now bigint, a_held_back bigint)
RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    head text;
    retry bigint := n.ends_at - a_now;
BEGIN
    IF n.claim_id = '' OR n.waiting >= 10000 OR (a_held_back > 0 AND w.patience_until <= a_now) THEN
        RETURN NULL;
    END IF;
    IF n.waiting > 0 THEN
        PERFORM FROM holdfast.waiters AS q
        WHERE q.prefix = n.prefix AND q.name = n.name AND q.claim_id = w.claim_id;
        IF FOUND THEN
            RETURN NULL;
        END IF;
    END IF;
    IF w.patience_until <= a_now THEN
        RETURN '[' || holdfast.birth() || ',"b",' || n.waiting || ',[' || holdfast.tenure(n, a_now) || ']]';
    END IF;
    IF n.waiting > 0 THEN
        SELECT q.inbox INTO head FROM holdfast.waiters AS q
        WHERE q.prefix = n.prefix AND q.name = n.name ORDER BY q.place LIMIT 1;
        IF NOT holdfast.is_open(head) THEN
            RETURN NULL;
        END IF;
        retry := -1;
    ELSIF a_held_back > 0 THEN
        retry := a_held_back;
    END IF;
    PERFORM holdfast.enqueue(w);
    RETURN '[' || holdfast.birth() || ',"w",' || retry || ',[' || holdfast.tenure(n, a_now) || ']]';
END $$;

-- Hold a name, join its queue, or be told who has it. Here is only what most claims need: each expression of
-- a function is set up anew in every transaction, so a short function is a quick one.
CREATE FUNCTION holdfast.claim(
    a_prefix text, a_quarantine bigint, a_name text, a_id text, a_seen bigint, a_kind text,
    a_capacity bigint, a_weight bigint, a_ttl bigint, a_patience bigint, a_inbox text, a_holder jsonb,
    a_metadata jsonb, a_detached boolean
) RETURNS text LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
DECLARE
    moment bigint := holdfast.clock();
    reply text;
BEGIN
    -- Nobody holds it, nobody waits, and it is no semaphore. That the clock is read before the row is locked
    -- does no harm here: nothing ends by it, and it is read after the question was sent.
    IF a_kind <> 'semaphore' AND a_weight <= a_capacity AND holdfast.held_back(a_quarantine, moment) = 0 THEN
        UPDATE holdfast.seats AS s SET
            claim_id = a_id, token = greatest(s.last_token + 1, moment, a_seen + 1),
            ends_at = moment + a_ttl, granted_at = moment, weight = a_weight, ttl = a_ttl,
            inbox = a_inbox, holder = a_holder, metadata = a_metadata, detached = a_detached,
            slots = NULL, broken = '', kind = a_kind, capacity = a_capacity,
            last_token = greatest(s.last_token + 1, moment, a_seen + 1), taken = 1,
            forget_on = greatest(s.forget_on, holdfast.forgettable(moment + a_ttl))
        WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = 0
            AND s.taken = 0 AND s.waiting = 0 AND strpos(s.ended, a_id) = 0
        RETURNING holdfast.granted(s.token, a_ttl, moment, NULL) INTO reply;
        IF FOUND THEN
            RETURN reply;
        END IF;
    END IF;
    RETURN holdfast.claim_in_full(a_prefix, a_quarantine, a_name, a_id, a_seen, a_kind, a_capacity, a_weight,
        a_ttl, a_patience, a_inbox, a_holder, a_metadata, a_detached);
END $$;

-- The whole of it: rules/claim.py.
CREATE FUNCTION holdfast.claim_in_full(
    a_prefix text, a_quarantine bigint, a_name text, a_id text, a_seen bigint, a_kind text,
    a_capacity bigint, a_weight bigint, a_ttl bigint, a_patience bigint, a_inbox text, a_holder jsonb,
    a_metadata jsonb, a_detached boolean
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    n holdfast.seats;
    w holdfast.waiters;
    g holdfast.seats;
    moment bigint;
    held_back bigint;
    reply text;
BEGIN
    n := holdfast.take_up(a_prefix, a_name);
    moment := holdfast.clock();
    held_back := holdfast.held_back(a_quarantine, moment);
    -- One living grant has all of it, nobody in line has lost patience, and the claim is new: most others.
    IF n.taken = 1 AND n.ends_at > moment AND n.weight = n.capacity AND n.claim_id <> a_id
        AND n.kind = a_kind AND n.capacity = a_capacity AND a_weight <= a_capacity
        AND strpos(n.ended, a_id) = 0 AND (n.waiting = 0 OR n.patience_floor > moment)
    THEN
        reply := holdfast.line_up(n, (a_prefix, a_name, n.joins + 1, a_id, moment + a_patience, a_seen,
            moment, a_weight, a_ttl, a_inbox, a_holder, a_metadata, a_detached), moment, held_back);
        IF reply IS NOT NULL THEN
            RETURN reply;
        END IF;
    END IF;

    PERFORM holdfast.sweep(n, moment);
    PERFORM holdfast.hand_over(a_prefix, a_name, ARRAY[a_id], moment, held_back);
    UPDATE holdfast.waiters AS q SET  -- asked again: it keeps the place it has
        patience_until = greatest(q.patience_until, moment + a_patience),
        seen_token = greatest(q.seen_token, a_seen)
    WHERE q.prefix = a_prefix AND q.name = a_name AND q.claim_id = a_id;
    IF FOUND THEN
        RETURN holdfast.standing(a_prefix, a_name, a_id, moment, held_back);
    END IF;
    SELECT * INTO n FROM holdfast.seats AS s
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = 0;
    PERFORM FROM holdfast.seats AS s
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.claim_id = a_id;
    IF FOUND OR holdfast.fate(n.ended, a_id, moment) IS NOT NULL THEN
        RETURN holdfast.standing(a_prefix, a_name, a_id, moment, held_back);
    END IF;

    IF a_weight > a_capacity THEN
        RETURN holdfast.refused('weight', format('%s of %s can never be had', a_weight, a_capacity));
    END IF;
    IF n.taken = 0 AND n.waiting = 0 THEN  -- kind and capacity bind only while the name is in use
        n.kind := a_kind;
        n.capacity := a_capacity;
        UPDATE holdfast.seats AS s SET kind = a_kind, capacity = a_capacity
        WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = 0;
    ELSIF n.kind <> a_kind THEN
        RETURN holdfast.refused('kind', format('it is in use as a %s, not as a %s', n.kind, a_kind));
    ELSIF n.capacity <> a_capacity THEN
        RETURN holdfast.refused('capacity',
            format('it is in use with %s permits, not %s', n.capacity, a_capacity));
    END IF;

    w := (a_prefix, a_name, n.joins + 1, a_id, moment + a_patience, a_seen, moment, a_weight, a_ttl,
        a_inbox, a_holder, a_metadata, a_detached);
    IF held_back = 0 AND (n.taken = 0 OR holdfast.free(n) >= a_weight)
        AND (n.waiting = 0 OR holdfast.nobody_can_be_told(a_prefix, a_name))
    THEN
        g := holdfast.give(w, a_ttl, moment);
        RETURN holdfast.granted(g.token, a_ttl, moment, g.slots);
    END IF;
    IF a_patience <= 0 AND held_back > 0 THEN
        RETURN '[' || holdfast.birth() || ',"q",' || held_back || ']';
    END IF;
    IF a_patience <= 0 THEN
        RETURN '[' || holdfast.birth() || ',"b",' || n.waiting || ','
            || holdfast.holders(a_prefix, a_name, moment, 8) || ']';
    END IF;
    IF n.waiting >= 10000 THEN
        RETURN holdfast.refused('queue_full', '10000 claims are waiting for it already');
    END IF;
    PERFORM holdfast.enqueue(w);
    RETURN holdfast.standing(a_prefix, a_name, a_id, moment, held_back);
END $$;

-- Whether everybody in the queue is passed over.
CREATE FUNCTION holdfast.nobody_can_be_told(a_prefix text, a_name text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    w record;
BEGIN
    FOR w IN
        SELECT q.inbox FROM holdfast.waiters AS q
        WHERE q.prefix = a_prefix AND q.name = a_name ORDER BY q.place
    LOOP
        IF holdfast.is_open(w.inbox) THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END $$;

CREATE FUNCTION holdfast.refused(a_why text, a_detail text) RETURNS text LANGUAGE sql STABLE
RETURN json_build_array(holdfast.birth(), 'r', a_why, a_detail)::text;

-- Give a lease back ('r'), or end a claim whatever became of it ('w'). Here is only what most of them need.
CREATE FUNCTION holdfast.finish(
    a_prefix text, a_quarantine bigint, a_name text, a_id text, a_how text
) RETURNS text LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
DECLARE
    moment bigint := holdfast.clock();
    held tid;
    in_line integer;
    whole bigint;
    last bigint;
    simple boolean;
    reply text;
BEGIN
    -- FOR UPDATE, so that nobody can have pinned it; who has is not waited for.
    SELECT s.ctid, s.waiting, s.capacity, s.last_token, s.patience_floor > moment AND s.kind <> 'semaphore'
    INTO held, in_line, whole, last, simple FROM holdfast.seats AS s
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = 0
        AND s.taken = 1 AND s.claim_id = a_id AND s.ends_at > moment
    FOR UPDATE SKIP LOCKED;

    -- It alone holds the name, and nobody waits. The row is locked, so it stays where it was found.
    IF in_line = 0 THEN
        UPDATE holdfast.seats AS s SET
            claim_id = NULL, taken = 0, ended = holdfast.buried(s.ended, a_id, a_how, moment)
        WHERE s.ctid = held
        RETURNING '[' || holdfast.birth()::text || ',"e","' || a_how || '",[]]' INTO reply;
    ELSIF simple AND holdfast.held_back(a_quarantine, moment) = 0 THEN
        reply := holdfast.pass_on(a_prefix, a_name, held, whole, last, a_id, a_how, moment);
    END IF;
    IF reply IS NOT NULL THEN
        RETURN reply;
    END IF;
    RETURN holdfast.finish_in_full(a_prefix, a_quarantine, a_name, a_id, a_how);
END $$;

-- Let the head of the queue inherit the one grant there is, found at a_held: most hand-overs. It can if it takes
-- all there is and can be told; else NULL, and nothing is changed.
CREATE FUNCTION holdfast.pass_on(
    a_prefix text, a_name text, a_held tid, a_capacity bigint, a_last bigint, a_id text, a_how text, a_now bigint
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    w record;
    larger bigint;
    life bigint;
    reply text;
    told text;
BEGIN
    SELECT q.ctid AS found_at, q.* INTO w FROM holdfast.waiters AS q
    WHERE q.prefix = a_prefix AND q.name = a_name ORDER BY q.place LIMIT 1;
    IF NOT FOUND OR w.weight <> a_capacity OR NOT holdfast.is_open(w.inbox) THEN
        RETURN NULL;
    END IF;
    larger := greatest(a_last + 1, a_now, w.seen_token + 1);
    life := least(3000000, w.ttl);
    -- By its place on the page: on an empty table a planner may look it up among all who wait for the name.
    DELETE FROM holdfast.waiters AS q WHERE q.ctid = w.found_at;
    UPDATE holdfast.seats AS s SET
        claim_id = w.claim_id, token = larger, ends_at = a_now + life, granted_at = a_now,
        weight = w.weight, ttl = w.ttl, inbox = w.inbox, holder = w.holder,
        metadata = w.metadata, detached = w.detached, slots = NULL, broken = '',
        last_token = larger, waiting = s.waiting - 1,
        ended = holdfast.buried(s.ended, a_id, a_how, a_now),
        forget_on = greatest(s.forget_on, holdfast.forgettable(a_now + life))
    WHERE s.ctid = a_held
    RETURNING '[' || holdfast.birth()::text || ',"e","' || a_how || '",['
        || holdfast.tenure(s, a_now)::text || ']]' INTO reply;
    IF w.inbox <> '' THEN
        told := pg_notify(rtrim(w.inbox, '?'), concat_ws(
            E'\x1f', 1, 'granted', w.claim_id, larger, life, a_now, '', w.name, ''));
    END IF;
    RETURN reply;
END $$;

-- The whole of it: rules/claim.py.
CREATE FUNCTION holdfast.finish_in_full(
    a_prefix text, a_quarantine bigint, a_name text, a_id text, a_how text
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    n holdfast.seats;
    held integer;
    moment bigint;
    how text := a_how;
BEGIN
    IF a_how = 'r' AND holdfast.is_new(a_prefix, a_name) THEN
        RETURN '[' || holdfast.birth() || ',"e","u",[]]';
    END IF;
    n := holdfast.take_up(a_prefix, a_name);
    moment := holdfast.clock();
    PERFORM holdfast.sweep(n, moment);
    SELECT s.seat INTO held FROM holdfast.seats AS s
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.claim_id = a_id;
    IF FOUND THEN
        PERFORM holdfast.vacate(a_prefix, a_name, held, moment);
    ELSE
        PERFORM FROM holdfast.waiters AS q
        WHERE q.prefix = a_prefix AND q.name = a_name AND q.claim_id = a_id;
        IF FOUND THEN
            PERFORM holdfast.leave(a_prefix, a_name, a_id);
            how := 'w';
        ELSE
            SELECT * INTO n FROM holdfast.seats AS s
            WHERE s.prefix = a_prefix AND s.name = a_name AND s.seat = 0;
            IF a_how = 'r' OR holdfast.fate(n.ended, a_id, moment) IS NOT NULL THEN
                how := NULL;
            END IF;
        END IF;
    END IF;
    -- An unknown claim that is withdrawn may still be under way: buried, it comes too late.
    IF how IS NULL THEN
        how := holdfast.fate(n.ended, a_id, moment);
    ELSE
        PERFORM holdfast.bury(a_prefix, a_name, a_id, how, moment);
    END IF;
    PERFORM holdfast.hand_over(
        a_prefix, a_name, '{}', moment, holdfast.held_back(a_quarantine, moment));
    RETURN holdfast.ended(a_prefix, a_name, how, moment);
END $$;

-- Move the queue on, and say where this claim stands now.
CREATE FUNCTION holdfast.advance(a_prefix text, a_quarantine bigint, a_name text, a_id text) RETURNS text
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
DECLARE
    n holdfast.seats;
    moment bigint;
    held_back bigint;
BEGIN
    IF holdfast.is_new(a_prefix, a_name) THEN
        RETURN '[' || holdfast.birth() || ',"e","u",[]]';
    END IF;
    n := holdfast.take_up(a_prefix, a_name);
    moment := holdfast.clock();
    held_back := holdfast.held_back(a_quarantine, moment);
    PERFORM holdfast.sweep(n, moment);
    PERFORM holdfast.hand_over(a_prefix, a_name, ARRAY[a_id], moment, held_back);
    RETURN holdfast.standing(a_prefix, a_name, a_id, moment, held_back);
END $$;

-- Take the grant with this token away: when its holder lets go, or at once.
CREATE FUNCTION holdfast.break(
    a_prefix text, a_quarantine bigint, a_name text, a_token bigint, a_reason text, a_force boolean
) RETURNS text LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
DECLARE
    n holdfast.seats;
    moment bigint;
    held_back bigint;
    g holdfast.seats;
BEGIN
    IF holdfast.is_new(a_prefix, a_name) THEN
        RETURN '[' || holdfast.birth() || ',"n",[]]';
    END IF;
    n := holdfast.take_up(a_prefix, a_name);
    moment := holdfast.clock();
    held_back := holdfast.held_back(a_quarantine, moment);
    PERFORM holdfast.sweep(n, moment);
    UPDATE holdfast.seats AS s SET broken = CASE WHEN a_reason = '' THEN 'broken' ELSE a_reason END
    WHERE s.prefix = a_prefix AND s.name = a_name AND s.claim_id <> '' AND s.token = a_token
    RETURNING s.* INTO g;
    IF NOT FOUND THEN
        PERFORM holdfast.hand_over(a_prefix, a_name, '{}', moment, held_back);
        RETURN '[' || holdfast.birth() || ',"n",' || holdfast.holders(a_prefix, a_name, moment, 8) || ']';
    END IF;
    IF a_force THEN
        PERFORM holdfast.vacate(a_prefix, a_name, g.seat, moment);
        PERFORM holdfast.bury(a_prefix, a_name, g.claim_id, 'b', moment);
    END IF;
    PERFORM holdfast.tell(CASE WHEN a_force THEN 'forced' ELSE 'broken' END, g, 0);
    PERFORM holdfast.hand_over(a_prefix, a_name, '{}', moment, held_back);
    RETURN '[' || holdfast.birth() || ',"k",' || holdfast.tenure(g, moment) || ']';
END $$;
